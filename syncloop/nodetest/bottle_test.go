package nodetest_test

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// pod is a pod with one container per command.
func pod(name string, commands ...[]string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name)}}
	for i, command := range commands {
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: fmt.Sprintf("c%d", i), Image: name + ":1", Command: command})
	}
	return p
}

func TestFirst(t *testing.T) {
	out := nodetest.Play(t, nodetest.Config{Seed: 1}, func(w nodetest.World) {
		w.Set(pod("web", []string{"serve"}))
		w.Set(pod("crash", []string{"sh", "-c", "sleep 1; exit 3"}))
		j := pod("job", []string{"sleep", "3"}, []string{"sleep", "4"})
		j.Spec.RestartPolicy = v1.RestartPolicyNever
		w.Set(j)
		i := pod("init", []string{"serve"})
		i.Spec.InitContainers = []v1.Container{{Name: "i0", Image: "i0:1", Command: []string{"sleep", "2"}}, {Name: "i1", Image: "i1:1", Command: []string{"sleep", "2"}}}
		w.Set(i)
		w.Run(60 * time.Second)
		w.Drop("uid-web")
		w.Run(40 * time.Second)
	})
	fmt.Println(out)
}
