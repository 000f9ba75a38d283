// says: `Rc<usize>` cannot be sent between threads safely
fn main() {
    let shared = std::rc::Rc::new(1_usize);
    let read = move |_: &[usize], batch: &mut Vec<f64>| -> npymap::Result<()> {
        batch.resize(*shared, 0.0);
        Ok(())
    };
    let _ = npymap::BatchOptions::new().start([vec![0]], read);
}
