//! What a client starts ends with it: tasks and sockets (B40).

use std::time::Duration;

use ringfence_tests::{
    client::{balancer, call, echo, registry, until},
    fleet::Fleet,
};
use tokio::runtime::{Builder, Handle, Runtime};

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn multi_thread() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

fn alive_tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Uses three servers and drops the client. All is closed within a second; the limit allows for a loaded machine.
async fn drop_closes_everything() {
    let fleet = Fleet::start(["a", "b", "c"]).await;
    let tasks = alive_tasks();
    let source = registry(["a", "b", "c"].map(|id| fleet.instance(id).build().unwrap()));
    let balancer = balancer(source);
    let echo = echo(&balancer);
    for key in 0..50 {
        call(&echo, &key.to_string()).await.unwrap();
    }
    let open = || ["a", "b", "c"].map(|id| fleet.server(id).open_connections());
    assert_eq!(open(), [1, 1, 1], "one connection to each instance");

    drop(echo);
    drop(balancer);
    let closed = until(|| open() == [0, 0, 0] && alive_tasks() <= tasks);
    let closed = tokio::time::timeout(Duration::from_secs(10), closed).await;
    assert!(
        closed.is_ok(),
        "open: {:?}, tasks: {} instead of {tasks}",
        open(),
        alive_tasks()
    );
}

#[test]
fn a_dropped_client_ends_its_tasks_and_closes_its_sockets_on_one_thread() {
    current_thread().block_on(drop_closes_everything());
}

#[test]
fn a_dropped_client_ends_its_tasks_and_closes_its_sockets_on_many_threads() {
    multi_thread().block_on(drop_closes_everything());
}

#[test]
fn many_clients_leave_nothing_behind() {
    multi_thread().block_on(async {
        let fleet = Fleet::start(["a", "b"]).await;
        let tasks = alive_tasks();
        for round in 0..100 {
            let balancer = balancer(registry(
                ["a", "b"].map(|id| fleet.instance(id).build().unwrap()),
            ));
            let echo = echo(&balancer);
            call(&echo, &round.to_string()).await.unwrap();
            call(&echo, &format!("other {round}")).await.unwrap();
        }
        let open = || fleet.server("a").open_connections() + fleet.server("b").open_connections();
        let gone = until(|| open() == 0 && alive_tasks() <= tasks);
        let gone = tokio::time::timeout(Duration::from_secs(10), gone).await;
        assert!(
            gone.is_ok(),
            "{} connections, {} tasks instead of {tasks}",
            open(),
            alive_tasks()
        );
    });
}

#[test]
fn a_client_may_be_dropped_outside_of_a_runtime_and_after_it() {
    let runtime = multi_thread();
    let (balancer, echo) = runtime.block_on(async {
        let fleet = Fleet::start(["a"]).await;
        let balancer = balancer(registry([fleet.instance("a").build().unwrap()]));
        let echo = echo(&balancer);
        call(&echo, "key").await.unwrap();
        (balancer, echo)
    });
    let second = (balancer.clone(), echo.clone());
    drop((balancer, echo));
    drop(runtime);
    drop(second);
}

#[test]
fn shutdown_refuses_new_calls_and_lets_running_ones_end() {
    current_thread().block_on(async {
        let fleet = Fleet::start(["a"]).await;
        let balancer = balancer(registry([fleet.instance("a").build().unwrap()]));
        let echo = echo(&balancer);
        call(&echo, "key").await.unwrap();

        let slow = ringfence_echo::EchoRequest::new("slow").with_delay_ms(200);
        let running = tokio::spawn({
            let mut echo = echo.clone();
            async move { echo.unary(slow).await }
        });
        until(|| fleet.server("a").in_flight() == 1).await;
        balancer.shutdown().await;
        let refused = call(&echo, "key").await.unwrap_err();
        assert_eq!(refused.code(), tonic::Code::Unavailable);
        assert!(refused.message().contains("echo"), "{}", refused.message());
        running.await.unwrap().expect("the running call ends well");
    });
}

/// What nobody ends is cut off at the limit, and its connection closed (B58).
#[test]
fn a_shutdown_has_a_limit_for_what_runs() {
    current_thread().block_on(async {
        let fleet = Fleet::start(["a"]).await;
        let balancer = balancer(registry([fleet.instance("a").build().unwrap()]));
        let echo = echo(&balancer);
        let [short, long] = [50, 60_000].map(|delay_ms| {
            let mut echo = echo.clone();
            let request = ringfence_echo::EchoRequest::new("slow").with_delay_ms(delay_ms);
            tokio::spawn(async move { echo.unary(request).await })
        });
        until(|| fleet.server("a").in_flight() == 2).await;
        assert_eq!(
            balancer.shutdown_within(Duration::from_millis(500)).await,
            1
        );
        assert_eq!(short.await.unwrap().unwrap().into_inner().instance, "a");
        let cut = long.await.unwrap().unwrap_err();
        assert_eq!(cut.code(), tonic::Code::Unavailable, "{cut:?}");
        until(|| fleet.server("a").open_connections() == 0).await;
        assert_eq!(balancer.status().nodes, 0);
    });
}
