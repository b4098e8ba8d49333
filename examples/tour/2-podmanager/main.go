package main

import (
	"fmt"
	"io"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/workqueue"
)

func main() { run(clock.RealClock{}, os.Stdout) }

// run stores desired pods, and changes them before the queue says that they are due.
func run(clk clock.Clock, out io.Writer) {
	start := clk.Now()
	queue := workqueue.New(workqueue.Config{Clock: clk})
	manager := podmanager.New()

	manager.AddPod(newPod("web", "nginx:1"))
	manager.AddPod(newPod("job", "busybox:1"))
	queue.Enqueue("web", time.Second)
	queue.Enqueue("job", 2*time.Second)
	manager.UpdatePod(newPod("web", "nginx:2"))
	manager.RemovePod(newPod("job", "busybox:1"))

	// A static pod comes from a file. Its mirror pod shows it in the API server, under another UID.
	static, mirror := newPod("dns", "coredns:1"), newPod("dns", "coredns:1")
	static.Annotations = map[string]string{podmanager.ConfigSourceAnnotation: podmanager.FileSource}
	mirror.Annotations = map[string]string{podmanager.ConfigMirrorAnnotation: "hash"}
	mirror.UID = "dns-mirror"
	manager.AddPod(static)
	manager.AddPod(mirror)
	// TranslatePodUID returns the UID of the static pod for the UID of its mirror pod.
	queue.Enqueue(types.UID(manager.TranslatePodUID(mirror.UID)), 3*time.Second)

	for next, queued := queue.Next(); queued; next, queued = queue.Next() {
		<-clk.After(next.Sub(clk.Now()))
		for _, uid := range queue.GetWork(clk.Now(), nil) {
			elapsed := clk.Since(start).Round(time.Second)
			pod, desired := manager.GetPodByUID(uid)
			if !desired {
				fmt.Fprintf(out, "%v %s is no longer desired\n", elapsed, uid)
				continue
			}
			_, mirrored := manager.GetMirrorPodByPod(pod)
			fmt.Fprintf(out, "%v sync %s: image %s, static %t, mirror pod %t\n", elapsed, uid,
				pod.Spec.Containers[0].Image, podmanager.IsStaticPod(pod), mirrored)
		}
	}
}

// newPod returns a pod whose UID is its name.
func newPod(name, image string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: image}}},
	}
}
