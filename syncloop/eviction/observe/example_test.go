package observe_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/eviction/observe"
)

// The signals of a machine with 1 GiB of memory.
func ExampleNewHost() {
	proc, err := os.MkdirTemp("", "proc")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(proc)
	meminfo := "MemTotal: 1048576 kB\nMemFree: 102400 kB\nInactive(file): 102400 kB\n"
	if err := os.WriteFile(filepath.Join(proc, "meminfo"), []byte(meminfo), 0o600); err != nil {
		panic(err)
	}
	host := observe.NewHost(observe.HostConfig{NodeDirectory: proc, Proc: proc})
	o, _ := host.ReadSignals(context.Background()) // The error names the other files, which this example does not have.
	fmt.Println(o.Signals[eviction.MemoryAvailable].Available>>20, "MiB")
	// Output: 200 MiB
}

// The emptyDirs of a pod below the root directory of a node.
func ExampleNewFiles() {
	files := observe.NewFiles(observe.FilesConfig{VolumeDirectory: observe.VolumeDirectory("/nonexistent")})
	pod := &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}}}
	storage, err := files.ReadStorage(context.Background(), pod)
	fmt.Println(len(storage.Volumes), *storage.Volumes[0].Bytes, err)
	// Output: 1 0 <nil>
}

// A machine without the memory controller of cgroup v1 has no notifications: Run returns at once.
func ExampleNewMemoryNotifier() {
	threshold, _ := eviction.ParseAmount("100Mi")
	m := observe.NewMemoryNotifier(observe.MemoryNotifierConfig{Threshold: threshold, Cgroup: "/no/such/cgroup"})
	err := m.Run(context.Background(), func() { fmt.Println("memory is scarce") })
	fmt.Println(err)
	// Output: <nil>
}
