package contain_test

import (
	"context"
	"fmt"

	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/runtime"
)

func ExampleNew() {
	g := contain.New(contain.Config{Package: "node"})
	fmt.Println(g.Call("Hooks.Phase", func() { panic("boom") }))
	fmt.Println(g.Healthy() != nil)
	// Output:
	// Hooks.Phase panicked: boom
	// true
}

func ExampleNewRuntime() {
	g := contain.New(contain.Config{})
	_, err := contain.NewRuntime(g, half{}).ListPods(context.Background())
	fmt.Println(err)
	fmt.Println(contain.NewRuntime(g, half{}).Features().Execer == nil)
	// Output:
	// Runtime.ListPods panicked: boom
	// true
}

func ExampleNewRecorder() {
	g := contain.New(contain.Config{})
	contain.NewRecorder(g, broken{}).Event(nil, "Warning", "Failed", "a recorder that panics")
	fmt.Println(g.Healthy() != nil)
	contain.NewRecorder(g, nil).Event(nil, "Warning", "Failed", "an event that is dropped")
	// Output: true
}

// broken is a recorder that panics.
type broken struct{ runtime.EventRecorder }

func (broken) Event(k8sruntime.Object, string, string, string) { panic("boom") }
