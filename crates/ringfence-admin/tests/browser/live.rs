//! What happens while somebody looks.

use std::time::{Duration, Instant};

use ringfence_admin::Admin;

use crate::{
    chromium::Chromium,
    site::{SERVICE, Site, instance},
};

#[tokio::test]
async fn an_ejected_instance_shows_within_two_seconds() {
    let site = Site::of(5).await;
    let chromium = Chromium::start().await;
    chromium.open(&site.url()).await;
    let state = "document.querySelector('tr[data-id=orders-2] .badge').textContent";
    chromium
        .until("document.querySelector('tr[data-id=orders-2]')")
        .await;
    assert_eq!(chromium.eval(&format!("return {state}")).await, "usable");
    let failed = Instant::now();
    site.fail("orders-2");
    chromium.until(&format!("{state} === 'ejected'")).await;
    let took = failed.elapsed();
    assert!(took < Duration::from_secs(2), "it took {took:?}");
    // On the ring it is hatched, and the summary counts it.
    chromium.until("document.querySelector('#ring path.arc.out[data-id=orders-2]') && document.querySelector('#ring path.hatch[data-id=orders-2]')").await;
    assert_eq!(chromium.text("#ring .big").await, "4/5");
    assert!(chromium.text("#tiles").await.contains("4 of 5"));
    // Why it is out and for how long, and the time runs.
    let term = "document.querySelector('tr[data-id=orders-2] .term').textContent";
    let shown = chromium.eval(&format!("return {term}")).await;
    let shown = shown.as_str().expect("text").to_owned();
    assert!(
        shown.starts_with("consecutive connect failures; back in "),
        "{shown}"
    );
    chromium.until(&format!("{term} !== {shown:?}")).await;
    chromium.judge(&site.url()).await;
}

#[tokio::test]
async fn a_join_shows_on_the_ring_and_among_the_changes() {
    let site = Site::of(3).await;
    let chromium = Chromium::start().await;
    chromium.open(&site.url()).await;
    chromium
        .until("document.querySelectorAll('#ring path.arc').length === 3")
        .await;
    let before = chromium.text("#ring-summary").await;
    site.registry
        .register(SERVICE, instance("orders-4", 3).build().expect("legal"));
    chromium
        .until("document.querySelectorAll('#ring path.arc').length === 4")
        .await;
    chromium.until("document.querySelector('#changes .who-came') && document.querySelector('#changes .who-came').textContent === 'orders-4'").await;
    assert_ne!(chromium.text("#ring-summary").await, before);
    // What moved is what it owns: the balancer says how much.
    let change = site.balancer.changes().pop().expect("one");
    let moved = change.moved_share.expect("it is known").as_f64() * 100.0;
    let shown = chromium.text("#changes li .number").await;
    assert_eq!(shown, format!("{moved:.1}\u{a0}% moved"));
    chromium.judge(&site.url()).await;
}

#[tokio::test]
async fn what_becomes_of_the_server_and_the_task_is_told() {
    let site = Site::of(2).await;
    // A second page with two services, one of which is gone.
    let gone = ringfence_balancer::Balancer::builder(site.registry.clone(), "gone")
        .build()
        .expect("legal");
    let admin = Admin::new()
        .with_balancer(&site.balancer)
        .with_balancer(&gone);
    let server = admin
        .serve("127.0.0.1:0".parse().expect("legal"))
        .await
        .expect("a port");
    drop(gone);
    let chromium = Chromium::start().await;
    chromium
        .open(&format!("http://{}/", server.local_addr()))
        .await;
    chromium
        .until("document.querySelectorAll('#service option').length === 2")
        .await;
    chromium.eval("const select = document.querySelector('#service'); select.value = 'gone'; select.dispatchEvent(new Event('change'));").await;
    chromium
        .until("document.querySelector('#phase').textContent === 'gone'")
        .await;
    assert!(chromium.text("#note").await.contains("dropped"));
    chromium.eval("const select = document.querySelector('#service'); select.value = 'orders'; select.dispatchEvent(new Event('change'));").await;
    chromium
        .until("document.querySelectorAll('#instance-rows tr').length === 2")
        .await;
    site.balancer.shutdown().await;
    chromium
        .until("document.querySelector('#phase').textContent === 'task gone'")
        .await;
    assert!(
        chromium
            .eval("return document.querySelector('#lost').hidden")
            .await
            == true
    );
    drop(server);
    chromium
        .until("!document.querySelector('#lost').hidden")
        .await;
    assert!(chromium.text("#lost").await.starts_with("Connection lost"));
}
