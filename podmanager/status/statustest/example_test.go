package statustest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podmanager/status/statustest"
)

// table is a Sink that keeps the newest status of each pod.
type table struct{ statuses sync.Map }

func (s *table) Send(_ context.Context, u status.Update) error {
	if u.Removed {
		s.statuses.Delete(u.UID)
	} else {
		s.statuses.Store(u.UID, u.Status)
	}
	return nil
}

func (s *table) read(uid types.UID) (v1.PodStatus, bool) {
	stored, ok := s.statuses.Load(uid)
	if !ok {
		return v1.PodStatus{}, false
	}
	return stored.(v1.PodStatus), true
}

// TestTable is what the test of a Sink looks like.
func TestTable(t *testing.T) {
	statustest.RunSink(t, func(*testing.T) statustest.SinkUnderTest {
		s := &table{}
		return statustest.SinkUnderTest{Sink: s, Read: s.read}
	})
}

// The restart count of a container must not fall.
func ExampleCheckTransition() {
	before := &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "web", RestartCount: 2}}}
	after := &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "web", RestartCount: 1}}}
	fmt.Println(statustest.CheckTransition(before, after))
	// Output: statustest: container web: the restart count fell from 2 to 1
}
