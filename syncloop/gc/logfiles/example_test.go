package logfiles_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc/logfiles"
)

// The names of the logs contain the number of the next attempt.
func ExampleNew() {
	root, err := os.MkdirTemp("", "logs")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	dir := filepath.Join(root, "default_web_u1", "web")
	_ = os.MkdirAll(dir, 0o755)
	_ = os.WriteFile(filepath.Join(dir, "4.log"), nil, 0o644)

	logs, err := logfiles.New(logfiles.Config{Root: root})
	if err != nil {
		panic(err)
	}
	fmt.Println(logs.NextAttempt(runtime.PodRef{UID: "u1", Name: "web", Namespace: "default"}, "web"))
	// Output:
	// 5 <nil>
}
