package syncloop

import (
	"fmt"
	"runtime/debug"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager"
)

// contain calls code that may not be ours and turns a panic of it into an error
// with the stack: one bad handler must not end what all pods need (I50).
func contain(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("syncloop: panic: %v\n%s", v, debug.Stack())
		}
	}()
	f()
	return nil
}

func fullNames(pods []*v1.Pod) []string {
	names := make([]string, 0, len(pods))
	for _, pod := range pods {
		names = append(names, podmanager.FullName(pod))
	}
	return names
}
