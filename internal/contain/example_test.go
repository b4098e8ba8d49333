package contain_test

import (
	"context"
	"fmt"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/runtime"
)

func ExampleNew() {
	g := contain.New(contain.Config{Package: "node"})
	fmt.Println(g.Do("Hooks.Phase", func() { panic("boom") }))
	fmt.Println(g.Healthy() != nil)
	// Output:
	// Hooks.Phase panicked: boom
	// true
}

func ExampleNewRuntime() {
	g := contain.New(contain.Config{})
	_, err := contain.NewRuntime(g, half{}).ListPods(context.Background())
	fmt.Println(err)
	fmt.Println(contain.Power[runtime.Execer](g, half{}) == nil)
	// Output:
	// Runtime.ListPods panicked: boom
	// true
}

func ExampleNewRecorder() {
	r := contain.NewRecorder(contain.New(contain.Config{}), nil)
	r.Event(nil, "Warning", "Failed", "a recorder that is nil panics")
	fmt.Println("and that is contained")
	// Output: and that is contained
}
