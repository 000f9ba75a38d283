//! Functions that are awaited, in runtimes of each kind and without one.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use npymap::{ArrayFile, ErrorKind, MappedArrayMut, OpenOptions, Order, Result, Source};
use npymap_remote::RemoteOptions;
use npymap_remote::object_store::{ObjectStoreExt, memory::InMemory, path::Path};
use npymap_remote::tokio::runtime::{Builder, Runtime};

use crate::server::{Action, Server, Tags};
use crate::{array, assert_rows, npy, rows};

/// Opens the array of a server and reads rows in each way.
async fn read(options: RemoteOptions, url: String) -> Result<()> {
    let file = array(&options.open_async(&url).await?)?;
    assert_array(&file.select_rows_async(&[900, 3, 900, 500]).await?, [900, 3, 900, 500]);
    assert_array(&file.rows_async(990..).await?, 990..1000);
    assert_array(&file.rows_async(5..5).await?, []);
    assert_array(&file.rows_async(..).await?, 0..1000);
    assert_eq!(file.rows_async(..1001).await.unwrap_err().kind(), ErrorKind::OutOfBounds);
    let error = file.select_rows_async(&[3, 1000]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfBounds);
    assert!(error.to_string().starts_with(&url), "{error}");
    Ok(())
}

#[track_caller]
fn assert_array(array: &MappedArrayMut, rows: impl IntoIterator<Item = usize>) {
    assert_rows(array.as_slice().unwrap(), rows);
}

/// A runtime with one thread, which waits for nothing but the future.
fn single() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn rows_are_awaited_in_any_runtime() {
    let server = Server::new(rows(1000));
    let url = server.url("a.npy");
    let single = single();
    // The requests run on the threads of this crate, or on the only one of the runtime.
    single.block_on(read(RemoteOptions::new(), url.clone())).unwrap();
    let options = RemoteOptions::new().runtime(single.handle().clone());
    single.block_on(read(options, url.clone())).unwrap();

    let many = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let options = RemoteOptions::new().runtime(many.handle().clone());
    let tasks =
        [options, RemoteOptions::new()].map(|options| many.spawn(read(options, url.clone())));
    for task in tasks {
        many.block_on(task).unwrap().unwrap();
    }
    block_on(read(RemoteOptions::new(), url)).unwrap();
}

#[test]
fn many_tasks_read_at_the_same_time() {
    let server = Server::new(rows(1000));
    let single = single();
    let handle = single.handle().clone();
    let url = server.url("a.npy");
    single.block_on(async {
        let object = RemoteOptions::new().runtime(handle.clone()).open_async(&url).await.unwrap();
        let file = Arc::new(array(&object).unwrap());
        let tasks: Vec<_> = (0..40)
            .map(|start| {
                let file = Arc::clone(&file);
                handle.spawn(async move {
                    let some: Vec<usize> = (start..1000).step_by(37).rev().collect();
                    assert_array(&file.select_rows_async(&some).await.unwrap(), some);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn requests_are_cancelled_with_their_future() {
    let server = Server::failing(rows(1000), Tags::Strong, |number, _| match number {
        1..=4 => Action::Nothing,
        _ => Action::Answer,
    });
    // Four requests would wait for an hour, and at most two run at a time.
    let single = single();
    single.block_on(async {
        let options = RemoteOptions::new().concurrency(2);
        let file = array(&options.open_async(&server.url("a.npy")).await.unwrap()).unwrap();
        server.log();
        for _ in 0..2 {
            let mut taken = Box::pin(file.select_rows_async(&[300, 900, 100]));
            let mut context = Context::from_waker(Waker::noop());
            assert!(taken.as_mut().poll(&mut context).is_pending());
            let mut sent = 0;
            while sent < 2 {
                thread::sleep(Duration::from_millis(1));
                sent += server.log().len();
            }
            drop(taken);
        }
        assert_array(&file.select_rows_async(&[300, 900]).await.unwrap(), [300, 900]);
    });
}

#[test]
fn responses_that_are_not_awaited_do_not_hold_up_others() {
    let server = Server::new(rows(9000));
    let single = single();
    single.block_on(async {
        let options = RemoteOptions::new();
        let file = array(&options.open_async(&server.url("a.npy")).await.unwrap()).unwrap();
        server.log();
        // As many requests as there are at a time.
        let many: Vec<_> = (0..256).map(|number| 35 * number + 30).collect();
        let mut taken = Box::pin(file.select_rows_async(&many));
        let mut context = Context::from_waker(Waker::noop());
        assert!(taken.as_mut().poll(&mut context).is_pending());
        let mut sent = 0;
        while sent < many.len() {
            thread::sleep(Duration::from_millis(1));
            sent += server.log().len();
        }
        assert_array(&file.select_rows_async(&[300, 8000]).await.unwrap(), [300, 8000]);
        assert_array(&taken.await.unwrap(), many);
    });
}

#[test]
fn errors_are_those_of_blocking_functions() {
    let server = Server::new(rows(1000));
    block_on(async {
        let missing = server.url("missing");
        let error = RemoteOptions::new().open_async(&missing).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(error.to_string(), RemoteOptions::new().open(&missing).unwrap_err().to_string());
        let file = array(&RemoteOptions::new().open_async(&server.url("a.npy")).await.unwrap());
        let file = file.unwrap();
        server.replace(rows(1001));
        let error = file.select_rows_async(&[500]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed);
    });
}

#[test]
fn a_runtime_that_was_shut_down_is_an_error() {
    let server = Server::new(rows(1000));
    let other = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let options = RemoteOptions::new().runtime(other.handle().clone());
    let file = array(&options.open(&server.url("a.npy")).unwrap()).unwrap();
    drop(other);
    let error = block_on(file.select_rows_async(&[500])).unwrap_err();
    assert!(error.to_string().ends_with("the runtime of its requests was shut down"), "{error}");
    let error = block_on(options.open_async(&server.url("a.npy"))).unwrap_err();
    assert!(error.to_string().ends_with("the runtime of its requests was shut down"), "{error}");
}

#[test]
fn other_sources_and_layouts_are_read_too() {
    let elements: Vec<u8> = (0..300 * 40_u32).flat_map(u32::to_le_bytes).collect();
    let bytes = npy("<u4", &[300, 40], Order::F, &elements);
    let (store, path) = (Arc::new(InMemory::new()), Path::from("a.npy"));
    let runtime = single();
    runtime.block_on(store.put(&path, bytes.clone().into())).unwrap();
    block_on(async {
        let object = RemoteOptions::new().open_object_async(store, path).await.unwrap();
        for source in [object.source(), Source::bytes(bytes)] {
            let file = ArrayFile::new(source, OpenOptions::new()).unwrap();
            let some = file.select_rows_async(&[299, 5]).await.unwrap();
            let expected = file.select_rows(&[299, 5]).unwrap();
            assert_eq!(some.layout(), expected.layout());
            assert_eq!(some.as_bytes().unwrap(), expected.as_bytes().unwrap());
            let some = file.rows_async(7..9).await.unwrap();
            assert_eq!(some.as_bytes().unwrap(), file.rows(7..9).unwrap().as_bytes().unwrap());
            let whole = file.read_async().await.unwrap();
            assert_eq!(whole.as_bytes().unwrap(), elements);
        }
    });
}

/// Runs a future on this thread, without a runtime.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
        thread::park();
    }
}
