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
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: fmt.Sprintf("c%d", i), Image: "img:1", Command: command})
	}
	return p
}

func TestFirst(t *testing.T) {
	b := nodetest.New(t, nodetest.Config{Seed: 1})
	b.Set(pod("web", []string{"serve"}))
	b.Run(5 * time.Second)
	b.Drop("uid-web")
	b.Run(40 * time.Second)
	b.Stop()
	fmt.Println(b.Transcript())
}
