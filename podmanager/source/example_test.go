package source_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/source"
)

// A consumer calls TakeAll at any time, here only twice.
func ExampleNew() {
	handle := source.NewHandle()
	woken := make(chan struct{}, 10)
	mux, err := source.New(source.Config{
		Sources: map[string]source.Source{"host": handle},
		Wake:    func() { woken <- struct{}{} },
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- mux.Run(ctx) }()

	take := func() {
		for _, u := range mux.TakeAll(nil) {
			fmt.Print(u.Source, " ", u.Op)
			for _, p := range u.Pods {
				fmt.Print(" ", p.Name)
			}
			fmt.Println()
		}
	}
	<-woken
	take()
	fmt.Println("all seen:", mux.AllSeen())

	_ = handle.Apply(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1", Name: "web"}})
	_ = handle.Apply(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "2", Name: "db"}})
	handle.Delete("1")
	for range 3 {
		<-woken
	}
	take()

	stop()
	<-done
	// Output:
	// host ADD
	// all seen: true
	// host ADD db
}

// A handle takes pods at any time, before Run too.
func ExampleNewHandle() {
	handle := source.NewHandle()
	err := handle.Apply(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}})
	fmt.Println(err)
	// Output:
	// source: invalid pod: pod "web" has no UID
}

// A program that gets its pods one by one calls SetComplete when it has all of them. Until then no
// pod is terminated because it was not applied.
func ExampleNewHandleWith() {
	handle := source.NewHandleWith(source.HandleConfig{Incomplete: true})
	mux, err := source.New(source.Config{Sources: map[string]source.Source{"host": handle}})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	_ = mux.Run(ctx) // A handle needs no goroutine.
	mux.TakeAll(nil)
	fmt.Println(mux.AllSeen(), mux.Complete("host"))
	handle.SetComplete()
	mux.TakeAll(nil)
	fmt.Println(mux.AllSeen(), mux.Complete("host"))
	// Output:
	// true false
	// true true
}
