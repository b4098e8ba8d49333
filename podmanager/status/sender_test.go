package status_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/runtime"
)

// sending is a store and a sender in a simulation, and a sink that writes down what
// arrives there.
type sending struct {
	*status.Store
	t          *testing.T
	simulation *executor.Scheduler
	process    *executor.Process
	sender     *status.Sender
	cancel     context.CancelFunc
	err        error
	ended      bool

	latency time.Duration
	arrived []string
	busy    map[types.UID]bool
	most    int
	answer  func(u status.Update) error
	could   map[types.UID]bool
}

func newSending(t *testing.T, change ...func(*status.SenderConfig)) *sending {
	s := &sending{t: t, busy: map[types.UID]bool{}, could: map[types.UID]bool{}, latency: 20 * time.Millisecond}
	s.simulation = executor.NewScheduler(1, start)
	s.process = s.simulation.NewProcess()
	s.Store = status.New(status.Config{Clock: s.process.Clock()})
	cfg := status.SenderConfig{
		Store: s.Store, Sink: s, Clock: s.process.Clock(), CouldRun: func(uid types.UID) bool { return s.could[uid] },
	}
	for _, f := range change {
		f(&cfg)
	}
	sender, err := status.NewSender(cfg)
	require.NoError(t, err)
	s.sender = sender
	return s
}

// startSender starts the sender.
func (s *sending) startSender() {
	ctx, cancel := executor.WithCancel(context.Background())
	s.cancel, s.ended = cancel, false
	s.process.Go(func() { s.err, s.ended = s.sender.Run(ctx), true })
	s.simulation.RunUntilIdle()
}

// Send takes its time.
func (s *sending) Send(ctx context.Context, u status.Update) error {
	require.False(s.t, s.busy[u.UID], "two at once for %s", u.UID)
	s.busy[u.UID] = true
	s.most = max(s.most, len(s.busy))
	defer delete(s.busy, u.UID)
	if err := executor.Over(s.process.Clock()).Sleep(ctx, s.latency); err != nil {
		return err
	}
	if s.answer != nil {
		if err := s.answer(u); err != nil {
			return err
		}
	}
	word := fmt.Sprintf("%dms %s v%d %s", s.simulation.Now().Sub(start).Milliseconds(), u.UID, u.Version, u.Status.Phase)
	if u.Status.Reason != "" {
		word += "/" + u.Status.Reason
	}
	if u.Removed {
		word = fmt.Sprintf("%dms %s removed", s.simulation.Now().Sub(start).Milliseconds(), u.UID)
	}
	s.arrived = append(s.arrived, word)
	return nil
}

func (s *sending) runUntilAfter(d time.Duration) { s.simulation.RunUntil(start.Add(d)) }

// takeUpdates returns the updates that have arrived since its last call.
func (s *sending) takeUpdates() string {
	all := strings.Join(s.arrived, "\n")
	s.arrived = nil
	return all
}

// stopSender ends the sender and gives its error.
func (s *sending) stopSender(within time.Duration) error {
	s.cancel()
	s.simulation.RunUntil(s.simulation.Now().Add(within))
	require.True(s.t, s.ended, "Run has not returned")
	assert.Zero(s.t, s.process.Running())
	return s.err
}

func statusInPhase(p v1.PodPhase) v1.PodStatus { return v1.PodStatus{Phase: p} }

func readyStatus(yes v1.ConditionStatus) v1.PodStatus {
	return v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: yes}}}
}

// The figure of item 25: what takes 2.2 s one after the other takes 140 ms.
func TestSender_Item25_HundredChangesAtOnce(t *testing.T) {
	s := newSending(t)
	s.startSender()
	for i := range 100 {
		s.SetPodStatus(newPod(fmt.Sprint("pod", i)), statusInPhase(v1.PodRunning))
	}
	s.runUntilAfter(139 * time.Millisecond)
	assert.Len(t, s.arrived, 96)
	s.runUntilAfter(140 * time.Millisecond)
	assert.Len(t, s.arrived, 100)
	assert.Equal(t, 16, s.most)
	assert.Equal(t, 1, s.process.Running(), "nobody waits with the sender")
	require.NoError(t, s.stopSender(0))
}

func TestSender_NewestOnlyAndNeverTwoAtOnce(t *testing.T) {
	s := newSending(t)
	pod := newPod("a")
	s.SetPodStatus(pod, statusInPhase(v1.PodPending))
	s.startSender()
	s.runUntilAfter(5 * time.Millisecond)
	for i := range 5 {
		s.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodRunning, Reason: fmt.Sprint(i)})
	}
	s.runUntilAfter(time.Second)
	assert.Equal(t, "20ms a v1 Pending\n40ms a v6 Running/4", s.takeUpdates())
	s.SetPodStatus(pod, v1.PodStatus{Phase: v1.PodRunning, Reason: "4"})
	s.runUntilAfter(2 * time.Second)
	assert.Empty(t, s.takeUpdates(), "nothing new")
	s.RemoveOrphanedStatuses(nil)
	s.runUntilAfter(3 * time.Second)
	assert.Equal(t, "2020ms a removed", s.takeUpdates())
	require.NoError(t, s.stopSender(0))
}

// What others wait for goes first: an end, and readiness that comes or goes.
func TestSender_EndsAndReadinessGoFirst(t *testing.T) {
	s := newSending(t, func(c *status.SenderConfig) { c.Workers = 1 })
	s.startSender()
	for _, uid := range []string{"a", "b", "c", "d"} {
		s.SetPodStatus(newPod(uid), readyStatus(v1.ConditionTrue))
	}
	s.runUntilAfter(time.Second)
	s.takeUpdates()
	s.SetPodStatus(newPod("x"), statusInPhase(v1.PodPending))
	s.simulation.RunUntilIdle() // It is being sent.
	s.SetPodStatus(newPod("a"), func() v1.PodStatus { r := readyStatus(v1.ConditionTrue); r.Reason = "still"; return r }())
	s.SetPodStatus(newPod("e"), statusInPhase(v1.PodPending))
	s.SetPodStatus(newPod("b"), readyStatus(v1.ConditionFalse))
	s.SetPodStatus(newPod("c"), statusInPhase(v1.PodSucceeded))
	s.runUntilAfter(2 * time.Second)
	assert.Equal(t, "1020ms x v1 Pending\n1040ms b v2 Running\n1060ms c v2 Succeeded\n1080ms a v2 Running/still\n1100ms e v1 Pending", s.takeUpdates())
	require.NoError(t, s.stopSender(0))
}

// Item 25, ST-15: each pod is tried again by itself, with its own growing pause.
func TestSender_Item25_RetriesAlone(t *testing.T) {
	var pauses []time.Duration
	s := newSending(t, func(c *status.SenderConfig) {
		c.Hooks.Failed = func(u status.Update, err error, pause time.Duration) {
			assert.EqualError(t, err, "away")
			assert.Equal(t, v1.PodPending, u.Status.Phase)
			pauses = append(pauses, pause)
		}
	})
	away := true
	s.answer = func(u status.Update) error {
		if away && u.UID == "a" {
			return errors.New("away")
		}
		return nil
	}
	s.startSender()
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodPending))
	s.SetPodStatus(newPod("b"), statusInPhase(v1.PodPending))
	s.runUntilAfter(3500 * time.Millisecond)
	assert.Equal(t, "20ms b v1 Pending", s.takeUpdates())
	away = false
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodRunning))
	s.runUntilAfter(time.Minute)
	assert.Equal(t, "4080ms a v2 Running", s.takeUpdates(), "something newer waits for the first pause")
	assert.Equal(t, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, pauses)

	away = true
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodPending))
	s.runUntilAfter(time.Minute + time.Second)
	assert.Equal(t, time.Second, pauses[3], "it had arrived meanwhile")
	for range 7 {
		s.simulation.RunUntil(s.simulation.Now().Add(time.Minute))
	}
	assert.Equal(t, time.Minute, pauses[len(pauses)-1], "never longer")
	away = false
	require.NoError(t, s.stopSender(time.Minute))
}

// ST-17: a terminal phase is sent when no container of the pod can run; all other changes are sent before.
func TestSender_ST17_HoldsAnEndBack(t *testing.T) {
	s := newSending(t)
	s.startSender()
	pod := newPod("a")
	s.SetPodStatus(pod, statusInPhase(v1.PodRunning))
	s.runUntilAfter(time.Second)
	s.could["a"] = true
	evicted := v1.PodStatus{Phase: v1.PodFailed, Reason: "Evicted", Conditions: []v1.PodCondition{
		{Type: v1.DisruptionTarget, Status: v1.ConditionTrue}, {Type: v1.PodReady, Status: v1.ConditionTrue},
	}}
	var seen []v1.PodStatus
	s.answer = func(u status.Update) error { seen = append(seen, u.Status); return nil }
	s.SetPodStatus(pod, evicted)
	s.runUntilAfter(10 * time.Second)
	assert.Equal(t, "20ms a v1 Running\n1020ms a v2 Running", s.takeUpdates(), "once")
	require.Len(t, seen, 1)
	assert.Equal(t, v1.ConditionFalse, readyConditionStatus(seen[0]), "that it is not ready is no secret (ST-18)")
	s.could["a"] = false
	s.runUntilAfter(12 * time.Second)
	assert.Equal(t, "10040ms a v2 Failed/Evicted", s.takeUpdates())
	require.Len(t, seen, 2)
	assert.Equal(t, v1.DisruptionTarget, seen[1].Conditions[0].Type)

	// One that is terminated need not be asked, and does not wait to be.
	s.could["b"] = true
	b := newPod("b")
	b.Status.Phase = v1.PodRunning
	s.SetPodStatus(b, statusInPhase(v1.PodFailed))
	s.runUntilAfter(12500 * time.Millisecond)
	s.TerminatePod(b)
	s.runUntilAfter(13 * time.Second)
	assert.Equal(t, "12020ms b v1 Running\n12520ms b v2 Failed", s.takeUpdates())
	require.NoError(t, s.stopSender(0))
}

// Item 43: when the node stops, the sender sends the remaining statuses, or the error names them.
func TestSender_Item43_Drains(t *testing.T) {
	s := newSending(t)
	s.startSender()
	for i := range 20 {
		s.SetPodStatus(newPod(fmt.Sprint("pod", i)), statusInPhase(v1.PodRunning))
	}
	s.cancel()
	s.runUntilAfter(40 * time.Millisecond)
	assert.Len(t, s.arrived, 20)
	require.NoError(t, s.stopSender(0))
}

func TestSender_Item43_SaysWhatWasNotSent(t *testing.T) {
	s := newSending(t)
	s.startSender()
	s.answer = func(u status.Update) error {
		if u.UID != "c" {
			return errors.New("away")
		}
		return nil
	}
	for _, uid := range []string{"b", "c", "a"} {
		s.SetPodStatus(newPod(uid), statusInPhase(v1.PodRunning))
	}
	s.cancel()
	s.runUntilAfter(9 * time.Second)
	assert.False(t, s.ended)
	err := s.stopSender(time.Second)
	require.ErrorIs(t, err, status.ErrUnsent)
	assert.EqualError(t, err, "status: not everything was sent: of pods [a b]")

	// Another Sender of the store goes on with it.
	s.answer, s.arrived = nil, nil
	s.sender, err = status.NewSender(status.SenderConfig{Store: s.Store, Sink: s, Clock: s.process.Clock()})
	require.NoError(t, err)
	s.startSender()
	s.simulation.RunUntil(s.simulation.Now().Add(time.Minute))
	assert.Len(t, s.arrived, 3, "every status that is stored")
	require.NoError(t, s.stopSender(0))
}

func TestSender_EndsAtOnceWithoutADrain(t *testing.T) {
	s := newSending(t, func(c *status.SenderConfig) { c.Drain = -1 })
	s.latency = time.Hour
	s.startSender()
	s.SetPodStatus(newPod("a"), statusInPhase(v1.PodRunning))
	s.simulation.RunUntilIdle()
	s.SetPodStatus(newPod("b"), statusInPhase(v1.PodRunning))
	assert.EqualError(t, s.stopSender(0), "status: not everything was sent: of pods [a b]")
	assert.Empty(t, s.takeUpdates())
}

// A sink that hangs or panics delays only its own pod.
func TestSender_F_SinksThatHangOrPanic(t *testing.T) {
	var failures []string
	s := newSending(t, func(c *status.SenderConfig) {
		c.Workers = 2
		c.Timeout = 50 * time.Millisecond
		c.Hooks.Failed = func(u status.Update, err error, _ time.Duration) {
			failures = append(failures, fmt.Sprintf("%s: %v", u.UID, err))
		}
	})
	hangs := true
	s.answer = func(u status.Update) error {
		switch {
		case u.UID == "a" && hangs:
			hangs = false
			return executor.Over(s.process.Clock()).Sleep(context.Background(), 10*time.Millisecond)
		case u.UID == "p" && u.Version == 1 && len(failures) == 0:
			panic("no such sink")
		}
		return nil
	}
	s.startSender()
	s.SetPodStatus(newPod("p"), statusInPhase(v1.PodRunning))
	s.runUntilAfter(time.Second)
	s.latency = time.Hour
	s.SetPodStatus(newPod("h"), statusInPhase(v1.PodRunning))
	s.simulation.RunUntilIdle()
	s.latency = 20 * time.Millisecond
	s.SetPodStatus(newPod("q"), statusInPhase(v1.PodRunning))
	s.runUntilAfter(4 * time.Second)
	assert.Equal(t, []string{"p: Sink.Send panicked: no such sink", "h: context deadline exceeded"}, failures)
	assert.Equal(t, "1020ms q v1 Running\n1040ms p v1 Running\n2070ms h v1 Running", s.takeUpdates())
	require.NoError(t, s.stopSender(0))
}

func TestSender_RunsOnce(t *testing.T) {
	s := newSending(t)
	s.startSender()
	again := func() {
		err := s.sender.Run(context.Background())
		assert.ErrorIs(t, err, runtime.ErrSecondRun)
		assert.EqualError(t, err, "status: Run was called a second time")
	}
	s.process.Go(again)
	s.simulation.RunUntilIdle()
	require.NoError(t, s.stopSender(0))
	again()
}

func TestNewSender_SaysAllThatIsWrong(t *testing.T) {
	_, err := status.NewSender(status.SenderConfig{Workers: -1})
	assert.EqualError(t, err, "status: SenderConfig.Store is missing\nstatus: SenderConfig.Sink is missing\nstatus: SenderConfig.Workers is negative")
}

// late is a sink that is 20 ms away.
type late struct{ done chan struct{} }

func (l late) Send(ctx context.Context, _ status.Update) error {
	err := executor.Over(nil).Sleep(ctx, 20*time.Millisecond)
	l.done <- struct{}{}
	return err
}

// The figure: 100 changes to a sink that is 20 ms away.
func BenchmarkSenderHundredChanges(b *testing.B) {
	store, sink := status.New(status.Config{}), late{make(chan struct{}, 100)}
	sender, err := status.NewSender(status.SenderConfig{Store: store, Sink: sink})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- sender.Run(ctx) }()
	round := 0
	for b.Loop() {
		round++
		for i := range 100 {
			store.SetPodStatus(newPod(fmt.Sprint("pod", i)), v1.PodStatus{Phase: v1.PodRunning, Reason: fmt.Sprint(round)})
		}
		for range 100 {
			<-sink.done
		}
	}
	cancel()
	require.NoError(b, <-ended)
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/100changes")
}

// deafSink ignores its context for an hour.
type deafSink struct{}

func (deafSink) Send(context.Context, status.Update) error {
	return executor.Over(nil).Sleep(context.Background(), time.Hour)
}

// A sink that ignores its context does not keep Run from its end for longer than the drain
// and the timeout of a call.
func TestSender_F_ADeafSinkDoesNotHangTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := status.New(status.Config{})
		sender, err := status.NewSender(status.SenderConfig{Store: store, Sink: deafSink{}, Drain: 10 * time.Second, Timeout: 5 * time.Second})
		require.NoError(t, err)
		store.SetPodStatus(newPod("a"), statusInPhase(v1.PodRunning))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		err = sender.Run(ctx)
		assert.Equal(t, 75*time.Second, time.Since(began))
		assert.ErrorIs(t, err, status.ErrUnsent)
		assert.ErrorContains(t, err, "the sink ignores that the context of its call has ended")
		time.Sleep(time.Hour) // It returns at last.
	})
}
