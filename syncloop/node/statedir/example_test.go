package statedir_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/node/statedir"
)

// A node whose pods come from the program: the saved pods are desired before the program gets any others.
func ExampleOpen() {
	root, err := os.MkdirTemp("", "state")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	dir, err := statedir.Open(statedir.Config{Root: root})
	if err != nil {
		panic(err)
	}
	defer dir.Close()
	_, err = statedir.Open(statedir.Config{Root: root})
	fmt.Println(errors.Is(err, statedir.ErrLocked))

	saved, err := dir.Pods()
	if err != nil {
		panic(err)
	}
	handle := source.NewHandleWith(source.HandleConfig{Incomplete: true})
	complete := saved.ReadError() == nil
	for _, pod := range saved.Load() {
		if err := handle.Apply(pod); err != nil {
			slog.Error("cannot apply a saved pod", "pod", pod.Name, "err", err)
			complete = false
		}
	}
	if complete { // Otherwise a running pod that could not be read or applied would be terminated.
		handle.SetComplete()
	}
	config := node.Config{}
	config.Pods.Sources = map[string]source.Source{"bus": handle}
	if err := dir.Configure(&config); err != nil {
		panic(err)
	}
	_, err = node.New(config)
	fmt.Println(err)

	web := &v1.Pod{}
	web.Namespace, web.Name = "default", "web"
	web.UID, err = saved.UIDForName("default", "web")
	fmt.Println(err)
	fmt.Println(saved.Save(web)) // Before handle.Apply(web): a pod that runs is known to the next process.
	// Output:
	// true
	// <nil>
	// <nil>
	// <nil>
}
