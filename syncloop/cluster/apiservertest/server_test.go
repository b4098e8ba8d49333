package apiservertest_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
)

// simulated is a server and an agent in one simulation, each a process of its own.
type simulated struct {
	*testing.T
	*executor.Scheduler
	server *apiservertest.Server
	agent  *executor.Process
	log    []string
}

func newSimulated(t *testing.T, seed uint64) *simulated {
	scheduler := executor.NewScheduler(seed, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	server := apiservertest.New(apiservertest.Config{Clock: scheduler.NewProcess().Clock()})
	agent := scheduler.NewProcess()
	t.Cleanup(agent.Crash)
	return &simulated{T: t, Scheduler: scheduler, server: server, agent: agent}
}

func (s *simulated) addLine(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// takeLines returns the messages since its last call.
func (s *simulated) takeLines() []string {
	s.RunUntilIdle()
	log := s.log
	s.log = nil
	return log
}

// watchPods shows the events of the node's pods until the stream ends.
func (s *simulated) watchPods(opts apiserver.WatchOptions) {
	s.agent.Go(func() {
		stream, err := s.server.Client("n1").PodFeed().Watch(context.Background(), opts)
		if err != nil {
			s.addLine("watch: %v", err)
			return
		}
		defer stream.Close()
		for {
			e, err := stream.Next(context.Background())
			if err != nil {
				s.addLine("end: %v", err)
				return
			}
			s.addLine("%s", formatEvent(e))
		}
	})
}

func formatEvent(e apiserver.Event[*v1.Pod]) string {
	text := fmt.Sprintf("%s %s", e.ResourceVersion, e.Type)
	if e.InitialEventsEnd {
		text += " initial"
	}
	if e.Object == nil {
		return text
	}
	text += fmt.Sprintf(" %s generation %d", e.Object.Name, e.Object.Generation)
	if grace := e.Object.DeletionGracePeriodSeconds; grace != nil {
		text += fmt.Sprintf(" grace %d", *grace)
	}
	return text
}

func (s *simulated) createPod(name string) *v1.Pod {
	s.Helper()
	pod, err := s.server.Admin().CreatePod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       v1.PodSpec{NodeName: "n1", Containers: []v1.Container{{Name: "c", Image: "i:1"}}},
	})
	require.NoError(s, err)
	return pod
}

func TestSimulation_TheDeletionHandshake(t *testing.T) {
	s := newSimulated(t, 1)
	s.watchPods(apiserver.WatchOptions{SendInitialEvents: true})
	assert.Equal(t, []string{"4 BOOKMARK initial"}, s.takeLines())
	pod := s.createPod("a")
	require.NoError(t, s.server.Admin().DeletePod("default", "a", -1))
	require.NoError(t, s.server.Admin().DeletePod("default", "a", 60))
	require.NoError(t, s.server.Admin().DeletePod("default", "a", 5))
	zero := int64(0)
	s.agent.Go(func() {
		assert.NoError(t, s.server.Client("n1").Pods().Delete(context.Background(), apiserver.PodRef{Namespace: "default", Name: "a", UID: pod.UID}, &zero))
	})
	assert.Equal(t, []string{
		"5 ADDED a generation 1",
		"6 MODIFIED a generation 2 grace 30",
		"7 MODIFIED a generation 2 grace 5",
		"8 MODIFIED a generation 2 grace 0",
		"9 DELETED a generation 2 grace 0",
	}, s.takeLines())
}

func TestSimulation_ALostHistoryIsExpired(t *testing.T) {
	s := newSimulated(t, 1)
	s.createPod("a")
	s.watchPods(apiserver.WatchOptions{ResourceVersion: "5"})
	s.server.Compact()
	s.createPod("b")
	assert.Equal(t, []string{"6 ADDED b generation 1"}, s.takeLines())
	s.server.Crash()
	assert.Equal(t, []string{"end: read tcp: read: connection reset by peer"}, s.takeLines())
	s.watchPods(apiserver.WatchOptions{ResourceVersion: "6"})
	assert.Equal(t, []string{"watch: dial tcp: connect: connection refused"}, s.takeLines())
	s.server.Recover()
	s.watchPods(apiserver.WatchOptions{ResourceVersion: "6"})
	s.watchPods(apiserver.WatchOptions{ResourceVersion: "5"})
	assert.Equal(t, []string{"end: too old resource version: 5 (6)"}, s.takeLines())
	s.server.Break(nil)
	assert.Equal(t, []string{"end: " + io.EOF.Error()}, s.takeLines())
}

func TestSimulation_BookmarksAndTheEndOfAStream(t *testing.T) {
	s := newSimulated(t, 1)
	s.watchPods(apiserver.WatchOptions{SendInitialEvents: true, Timeout: 150 * time.Second})
	s.takeLines()
	_, err := s.server.Admin().Create(context.Background(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
	require.NoError(t, err)
	s.RunUntil(s.Now().Add(time.Hour))
	assert.Equal(t, []string{"5 BOOKMARK", "5 BOOKMARK", "end: EOF"}, s.takeLines())
}

// A frozen server carries out what the caller still waits for.
func TestSimulation_Freeze(t *testing.T) {
	s := newSimulated(t, 1)
	s.createPod("a")
	s.watchPods(apiserver.WatchOptions{ResourceVersion: "5"})
	s.RunUntilIdle()
	s.server.Freeze()
	get := func(name string, patience time.Duration) {
		s.agent.Go(func() {
			ctx, cancel := s.agent.WithDeadline(context.Background(), s.Now().Add(patience))
			defer cancel()
			_, err := s.server.Client("n1").Pods().Get(ctx, "default", "a")
			s.addLine("%s %v", name, err)
		})
	}
	get("short", time.Second)
	get("long", time.Hour)
	s.createPod("b")
	assert.Empty(t, s.takeLines())
	s.RunUntil(s.Now().Add(time.Minute))
	assert.Equal(t, []string{"short context deadline exceeded"}, s.takeLines())
	s.server.Thaw()
	assert.ElementsMatch(t, []string{"long <nil>", "6 ADDED b generation 1"}, s.takeLines())
}

func TestSimulation_Faults(t *testing.T) {
	s := newSimulated(t, 1)
	s.createPod("a")
	get := func() {
		s.agent.Go(func() {
			ctx, cancel := s.agent.WithDeadline(context.Background(), s.Now().Add(10*time.Second))
			defer cancel()
			_, err := s.server.Client("n1").Pods().Get(ctx, "default", "a")
			s.addLine("%v", err)
		})
		s.RunUntil(s.Now().Add(time.Minute))
	}
	busy := apierrors.NewTooManyRequests("busy", 3)
	for _, f := range []apiservertest.Fault{
		{Verb: "get", Times: 1, Err: busy},
		{Resource: "pods", Times: 1, Hang: true},
		{Name: "a", Times: 1, Lost: true},
		{Node: "n1", Times: 1, Latency: 9 * time.Second},
		{Node: "n2", Err: busy},
		{Verb: "list", Err: busy},
	} {
		s.server.Inject(f)
		get()
	}
	assert.Equal(t, []string{"busy", "context deadline exceeded", "read tcp: read: connection reset by peer", "<nil>", "<nil>", "<nil>"}, s.takeLines())
	var log []string
	for _, r := range s.server.TakeRequests() {
		log = append(log, r.String())
	}
	assert.Equal(t, []string{
		"get pods default/a: 429 TooManyRequests", "get pods default/a: not carried out", "get pods default/a: answer lost",
		"get pods default/a", "get pods default/a", "get pods default/a",
	}, log)
	assert.Empty(t, s.server.Requests())
}

// A request that hangs can be carried out after its caller has gone.
func TestSimulation_Late(t *testing.T) {
	s := newSimulated(t, 1)
	clear := s.server.Inject(apiservertest.Fault{Verb: "create", Times: 1, Hang: true, Late: true})
	s.agent.Go(func() {
		_, err := s.server.Client("n1").Nodes().Create(context.Background(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
		s.addLine("%v", err)
	})
	s.RunUntilIdle()
	s.agent.Crash()
	assert.Equal(t, []string{"executor: the process has crashed"}, s.takeLines())
	assert.Nil(t, s.server.Admin().Node("n1"))
	clear()
	assert.Equal(t, []v1.Taint{{Key: "node.kubernetes.io/not-ready", Effect: "NoSchedule"}}, s.server.Admin().Node("n1").Spec.Taints)
}

// A crash in the middle of a call: the request is carried out or not, as chance has it.
func TestSimulation_ACrashWithinACall(t *testing.T) {
	outcomes := map[bool]int{}
	for seed := range uint64(40) {
		s := newSimulated(t, seed)
		s.agent.Go(func() {
			_, _ = s.server.Client("n1").Nodes().Create(context.Background(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
		})
		for range seed % 4 {
			s.Step()
		}
		s.agent.Crash()
		outcomes[s.server.Admin().Node("n1") != nil]++
	}
	assert.NotZero(t, outcomes[true])
	assert.NotZero(t, outcomes[false])
}

// A stream ends with the connection of the caller that does not get it: its answer is lost,
// the caller has gone before the request is carried out, or crashes at any step of the call.
func TestSimulation_AbandonedStream(t *testing.T) {
	watch := func(s *simulated) {
		s.agent.Go(func() {
			_, err := s.server.Client("n1").PodFeed().Watch(context.Background(), apiserver.WatchOptions{})
			s.addLine("%v", err)
		})
	}
	s := newSimulated(t, 1)
	s.server.Inject(apiservertest.Fault{Verb: "watch", Times: 1, Lost: true})
	watch(s)
	assert.Equal(t, []string{"read tcp: read: connection reset by peer"}, s.takeLines())
	assert.Empty(t, s.server.Watches())

	clear := s.server.Inject(apiservertest.Fault{Verb: "watch", Times: 1, Hang: true, Late: true})
	watch(s)
	s.RunUntilIdle()
	s.agent.Crash()
	clear()
	assert.Empty(t, s.server.Watches())

	answered := 0
	for seed := range uint64(20) {
		s := newSimulated(t, seed)
		watch(s)
		for range seed % 4 {
			s.Step()
		}
		s.agent.Crash()
		switch log := s.takeLines(); {
		case len(log) == 1 && log[0] == "<nil>":
			answered++ // The stream is the caller's to close.
		default:
			assert.Empty(t, s.server.Watches(), "seed %d: %v", seed, log)
		}
	}
	assert.NotZero(t, answered)
}
