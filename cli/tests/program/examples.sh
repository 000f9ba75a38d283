# Creates the files that the examples in the help name. Each example runs in a copy
# of them; files that it creates are removed first.
n() { npymap "$@" >/dev/null; }
n create embeddings.npy --shape '(200, 300)' --dtype f4 --random uniform
n create row.npy --shape 300 --fill 2
n create image.npy --shape '(64, 64, 3)' --dtype u1
n create train.npy --shape '(1000, 8)' --dtype f4
n create weights.npy --shape '(20, 3)' --random normal
n create huge.npy --shape '(500, 16)'
n create mask.npy --shape '(48, 64)' --dtype '|b1'
n create labels.npy --shape '(48, 64)' --dtype u1 --random int --high 5
n create scores.npy --shape '(1000, 3)'
n create log.npy --shape '(40, 4)' --arange
n create today.npy --shape '(3, 4)'
n create frames.npy --shape '(50, 480, 640)' --dtype f4 --sparse
n create columns.npy --shape '(4, 3)'
n create fortran.npy --shape '(4, 3)' --order F
n create old.npy --shape 10 --dtype '>f8'
n create long.npy --shape 10
n create doubles.npy --shape 10 --random normal
n create features.npy --shape '(10, 3)'
n create more.npy --shape '(10, 2)'
n create all.npy --shape '(5, 2)'
n create events.npy --shape 2000 --dtype "[('when', '<M8[ns]'), ('x', '<f4'), ('t', '<f8'), ('temp', '<f8'), ('score', '<f8'), ('sensor', '<U8'), ('pos', [('x', '<f4'), ('y', '<f4'), ('z', '<f4')])]"
for name in part-1 part-2 part-3; do n create $name.npy --shape '(4, 2)'; done
for name in a b before after x y bias; do n create $name.npy --shape 3; done
mkdir -p layers/layer2
cp x.npy layers/layer2/w.npy
n npz pack x.npy --name x -o a.npz
n npz pack x.npy --name x -o b.npz
for name in old new; do n npz pack x.npy y.npy --name w --name layers.0.w -o $name.npz; done
for name in run1 run2; do n npz pack x.npy --name loss -o $name.npz; done
n npz pack x.npy --name scale -o other.npz
n npz pack embeddings.npy x.npy y.npy x.npy x.npy y.npy --name layer1/w --name layer1/b --name arr_0 --name optimizer/step --name a --name layers.0.bias -o weights.npz
mkdir runs old-run new-run
cp x.npy weights.npz runs
cp x.npy old-run
cp x.npy new-run
n convert weights.npz packed.npz --deflate
n convert x.npy batch.ten
npymap npz pack x.npy train.npy -o broken.npz --overwrite >/dev/null
head -c 2000 broken.npz >cut && mv cut broken.npz
truncate -s 122880512 frames.raw
head -c 800 train.npy >points.bin
head -c 800 train.npy >tokens.bin
printf 't,temp\n0.5,27.5\n' >events.csv
printf 'made by\na program\n1,2\n3,4\n' >table.csv
printf "1.5,2,3,4\n" >today.csv
printf '{"a": 1}\n' >rows.jsonl
head -c 1600 /dev/zero >recording.pcm
head -c 1644 /dev/zero >sound.wav
