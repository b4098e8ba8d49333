package events_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/events"
)

// harness is a server and a recorder in one simulation.
type harness struct {
	*testing.T
	*executor.Scheduler
	server   *apiservertest.Server
	recorder *events.Recorder
	cancel   context.CancelFunc
	asked    []error
	ended    time.Time
}

func simulate(t *testing.T, flush time.Duration) *harness {
	h := &harness{T: t, Scheduler: executor.NewScheduler(1, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))}
	h.server = apiservertest.New(apiservertest.Config{Clock: h.NewProcess().Clock()})
	process := h.NewProcess()
	t.Cleanup(process.Crash)
	var err error
	h.recorder, err = events.New(events.Config{
		Events: h.server.Client("n1").Events(), Host: "n1", Clock: process.Clock(), Flush: flush,
		RequestDone: func(err error) { h.asked = append(h.asked, err) },
	})
	require.NoError(t, err)
	ctx, cancel := executor.WithCancel(context.Background())
	h.cancel = cancel
	process.Go(func() {
		assert.NoError(t, h.recorder.Run(ctx))
		h.ended = h.Now()
	})
	return h
}

// after lets time pass and returns the writes that have reached the server.
func (h *harness) after(d time.Duration) string {
	h.RunUntil(h.Now().Add(d))
	var all []string
	for _, r := range h.server.TakeRequests() {
		name, _, _ := strings.Cut(r.Name, ".")
		all = append(all, fmt.Sprintf("%s %s %d", r.Verb, name, r.Code))
	}
	return strings.Join(all, ", ")
}

// have returns the events at the server.
func (h *harness) have() string {
	var all []string
	for _, e := range h.server.Admin().Events() {
		all = append(all, fmt.Sprintf("%s %s %s x%d", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Count))
	}
	return strings.Join(all, ", ")
}

func pod(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: "u"}}
}

// TestRecorder_EV24_Annotations: an annotated event has its annotations at the server, also if the caller changes the map
// and if the event is repeated.
func TestRecorder_EV24_Annotations(t *testing.T) {
	h := simulate(t, 0)
	annotations := map[string]string{"starved_resource": "memory"}
	h.recorder.AnnotatedEventf(pod("web"), annotations, v1.EventTypeWarning, "Evicted", "%d bytes", 1)
	annotations["starved_resource"] = "changed"
	assert.Equal(t, "create web 200", h.after(time.Millisecond))
	h.recorder.Event(pod("web"), v1.EventTypeWarning, "Evicted", "1 bytes")
	assert.Equal(t, "patch web 200", h.after(time.Minute))
	all := h.server.Admin().Events()
	require.Len(t, all, 1)
	assert.Equal(t, map[string]string{"starved_resource": "memory"}, all[0].Annotations)
	assert.Equal(t, "1 bytes", all[0].Message)
	assert.EqualValues(t, 2, all[0].Count)
}

// EB-3: a recorded event reaches the server once and at once.
func TestRecorder_EB3(t *testing.T) {
	h := simulate(t, 0)
	h.recorder.Event(pod("web"), v1.EventTypeNormal, "Started", "yes")
	h.recorder.Eventf(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "n"}}, v1.EventTypeNormal, "NodeReady", "Node %s is", "n1")
	assert.Equal(t, "create web 200, create n1 200", h.after(time.Millisecond))
	for range 5 {
		h.recorder.Event(pod("web"), v1.EventTypeNormal, "Started", "yes")
	}
	assert.Equal(t, "patch web 200", h.after(time.Minute))
	assert.Equal(t, "Node n1 NodeReady x1, Pod web Started x6", h.have())
	assert.Equal(t, events.State{}, h.recorder.State())
	assert.ErrorIs(t, h.recorder.Run(t.Context()), runtime.ErrSecondRun)

	h.recorder.Event(nil, v1.EventTypeNormal, "R", "nothing")
	h.recorder.Event((*v1.Pod)(nil), v1.EventTypeNormal, "R", "no pod")
	h.recorder.Event((*v1.ObjectReference)(nil), v1.EventTypeNormal, "R", "no reference")
	h.recorder.Event(&v1.Secret{}, v1.EventTypeNormal, "R", "of another kind")
	assert.Empty(t, h.after(time.Minute))
}

// EB-4: while the server is unreachable, only events over the bound are lost. After the first answer all
// others are written.
func TestRecorder_EB2_EB4_Away(t *testing.T) {
	h := simulate(t, 0)
	h.server.Down()
	for i := range 1100 {
		h.recorder.Event(pod(fmt.Sprint("p", i)), v1.EventTypeNormal, "Started", "yes")
	}
	h.after(time.Minute)
	assert.Equal(t, events.State{Pending: 1000, Dropped: 100}, h.recorder.State())
	h.after(10 * time.Minute)
	assert.Less(t, len(h.asked), 150, "pauses grow")
	h.server.Up()
	h.recorder.Retry()
	h.after(20 * time.Second)
	assert.Equal(t, events.State{Dropped: 100}, h.recorder.State())
	assert.Len(t, h.server.Admin().Events(), 1000)
}

// A lost answer causes no second event. An event that the server refuses is dropped.
func TestRecorder_LostAndRefused(t *testing.T) {
	h := simulate(t, 0)
	h.server.Inject(apiservertest.Fault{Verb: "create", Resource: "events", Times: 1, Lost: true})
	h.recorder.Event(pod("web"), v1.EventTypeNormal, "Started", "yes")
	h.after(time.Minute)
	assert.Equal(t, "Pod web Started x1", h.have())
	h.server.Inject(apiservertest.Fault{Verb: "create", Resource: "events", Times: 1, Err: apierrors.NewBadRequest("no")})
	h.recorder.Event(pod("bad"), v1.EventTypeNormal, "Started", "yes")
	h.after(time.Minute)
	assert.Equal(t, events.State{Dropped: 1}, h.recorder.State())
	assert.Equal(t, "Pod web Started x1", h.have())
}

// At a normal stop the pending events are written, within the bound.
func TestRecorder_End(t *testing.T) {
	h := simulate(t, 5*time.Second)
	h.server.Inject(apiservertest.Fault{Verb: "create", Resource: "events", Latency: time.Second})
	for i := range 10 {
		h.recorder.Event(pod(fmt.Sprint("p", i)), v1.EventTypeNormal, "Killing", "yes")
	}
	h.after(time.Millisecond)
	h.cancel()
	begun := h.Now()
	h.after(time.Minute)
	assert.Len(t, h.server.Admin().Events(), 10)
	assert.LessOrEqual(t, h.ended.Sub(begun), 3*time.Second)
	h.recorder.Event(pod("late"), v1.EventTypeNormal, "Killing", "yes")
	assert.Empty(t, h.after(time.Minute))

	h = simulate(t, 5*time.Second)
	h.server.Freeze()
	h.recorder.Event(pod("p"), v1.EventTypeNormal, "Killing", "yes")
	h.after(time.Millisecond)
	h.cancel()
	begun = h.Now()
	h.after(time.Minute)
	assert.Equal(t, 5*time.Second, h.ended.Sub(begun), "a server that is silent is given the bound")
	assert.Empty(t, h.asked, "the end of the context says nothing of the server")

	h = simulate(t, 5*time.Second)
	h.server.Down()
	h.recorder.Event(pod("p"), v1.EventTypeNormal, "Killing", "yes")
	h.after(10 * time.Minute)
	h.cancel()
	begun = h.Now()
	h.after(time.Minute)
	assert.Equal(t, begun, h.ended, "one that is away is tried once more")
	assert.Equal(t, events.State{Pending: 1}, h.recorder.State())

	h = simulate(t, 0)
	h.cancel()
	begun = h.Now()
	h.after(time.Minute)
	assert.Equal(t, begun, h.ended)
}

func TestNew_Refuses(t *testing.T) {
	_, err := events.New(events.Config{})
	assert.EqualError(t, err, "events: Config: Events or Host is missing")
}

// With real goroutines: all events that are recorded at the same time are written.
func TestRecorder_Real(t *testing.T) {
	server := apiservertest.New(apiservertest.Config{})
	recorder, err := events.New(events.Config{Events: server.Client("n1").Events(), Host: "n1", Flush: time.Minute})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- recorder.Run(ctx) }()
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 100 {
				recorder.Eventf(pod(fmt.Sprint("p", i)), v1.EventTypeNormal, "Started", "container %d", j%5)
				recorder.Retry()
			}
		})
	}
	group.Wait()
	cancel()
	require.NoError(t, <-done)
	total := 0
	for _, e := range server.Admin().Events() {
		total += int(e.Count)
	}
	assert.Equal(t, 800, total+recorder.State().Filtered)
	assert.Zero(t, recorder.State().Pending)
}
