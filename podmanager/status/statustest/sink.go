package statustest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/status"
)

// SinkUnderTest is a Sink and how to read what it has stored.
type SinkUnderTest struct {
	// Sink is the one to be checked. It has been sent nothing.
	Sink status.Sink
	// Read returns what is stored of a pod; false: nothing. It is called after Send has
	// returned, by one goroutine.
	Read func(uid types.UID) (v1.PodStatus, bool)
	// Trouble has the destination fail so from now on, and reports whether it can. It is
	// called between two calls of Send. Nil: it cannot, and what the errors of Send say is not
	// checked.
	Trouble func(Trouble) bool
}

// RunSink checks that a Sink keeps its contract, in a subtest for each rule. newSink is
// called once for each; what it needs it cleans up with t.Cleanup.
func RunSink(t *testing.T, newSink func(t *testing.T) SinkUnderTest) {
	for _, c := range sinkCases {
		t.Run(c.name, func(t *testing.T) {
			if err := c.check(t.Context(), newSink(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// waitLimit is how long a Send may take whose context has ended.
const waitLimit = 10 * time.Second

type sinkCase struct {
	name  string
	check func(ctx context.Context, s SinkUnderTest) error
}

var sinkCases = []sinkCase{
	{"AStatusIsStored", stored},
	{"TheNewestIsStored", newest},
	{"TheSameTwiceIsNoError", twice},
	{"AfterARestartVersionsBeginAnew", restarted},
	{"APodThatComesAgainIsAnotherOne", anotherEpoch},
	{"ARemovalIsNoError", removal},
	{"DifferentPodsAtOnce", atOnce},
	{"ThePodIsOnlyRead", onlyRead},
	{"SendEndsWithItsContext", endsWithContext},
	{"WhoIsUnreachableIsAskedAgain", inTrouble(Unreachable)},
	{"WhoIsBusyIsAskedAgain", inTrouble(Busy)},
	{"ARefusalIsErrRefused", inTrouble(Refuses)},
	{"APodThatIsNotThereIsErrNotYet", inTrouble(NotYet)},
}

// update is what a Sender sends of a pod.
func update(uid types.UID, version uint64, phase v1.PodPhase) status.Update {
	return status.Update{
		UID: uid, Version: version, StatusEpoch: 1,
		Pod: &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{UID: uid, Name: "pod-" + string(uid), Namespace: "default"},
			Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "img:1"}}},
		},
		Status: v1.PodStatus{Phase: phase, Message: fmt.Sprint("version ", version)},
	}
}

// send sends updates, and compares what is stored with the last one.
func send(ctx context.Context, s SinkUnderTest, updates ...status.Update) error {
	for _, u := range updates {
		if err := s.Sink.Send(ctx, u); err != nil {
			return fmt.Errorf("Send of %s: %w", u.Status.Message, err)
		}
	}
	last := updates[len(updates)-1]
	return reads(s, last.UID, last.Status)
}

func reads(s SinkUnderTest, uid types.UID, want v1.PodStatus) error {
	got, ok := s.Read(uid)
	switch {
	case !ok:
		return errors.New("Send has returned nil and nothing is stored")
	case got.Phase != want.Phase || got.Message != want.Message:
		return fmt.Errorf("Send of %s %q has returned nil, and %s %q is stored", want.Phase, want.Message, got.Phase, got.Message)
	}
	return nil
}

func stored(ctx context.Context, s SinkUnderTest) error {
	return send(ctx, s, update("a", 1, v1.PodRunning))
}

func newest(ctx context.Context, s SinkUnderTest) error {
	return send(ctx, s, update("a", 1, v1.PodPending), update("a", 2, v1.PodRunning), update("a", 5, v1.PodFailed))
}

// twice: after a start everything is sent once, also what was sent before.
func twice(ctx context.Context, s SinkUnderTest) error {
	return send(ctx, s, update("a", 3, v1.PodRunning), update("a", 3, v1.PodRunning))
}

// restarted: an agent that is started again counts versions from one.
func restarted(ctx context.Context, s SinkUnderTest) error {
	return send(ctx, s, update("a", 7, v1.PodRunning), update("a", 1, v1.PodFailed))
}

// anotherEpoch: nothing that was said of the former pod of the UID binds this one.
func anotherEpoch(ctx context.Context, s SinkUnderTest) error {
	again := update("a", 3, v1.PodRunning)
	again.StatusEpoch = 2
	return send(ctx, s, update("a", 2, v1.PodFailed), again)
}

// removal: there is nothing to be done about a pod that is gone, known or not.
func removal(ctx context.Context, s SinkUnderTest) error {
	if err := send(ctx, s, update("a", 1, v1.PodRunning)); err != nil {
		return err
	}
	for _, uid := range []types.UID{"a", "a", "unknown"} {
		if err := s.Sink.Send(ctx, status.Update{UID: uid, Removed: true}); err != nil {
			return fmt.Errorf("Send of the removal of pod %q: %w", uid, err)
		}
	}
	return send(ctx, s, update("a", 2, v1.PodRunning))
}

func atOnce(ctx context.Context, s SinkUnderTest) error {
	const pods, versions = 16, 8
	var (
		group sync.WaitGroup
		errs  = make([]error, pods)
	)
	for i := range pods {
		group.Go(func() {
			for version := range uint64(versions) {
				errs[i] = errors.Join(errs[i], s.Sink.Send(ctx, update(types.UID(fmt.Sprint(i)), version+1, v1.PodRunning)))
			}
		})
	}
	group.Wait()
	for i := range pods {
		last := update(types.UID(fmt.Sprint(i)), versions, v1.PodRunning)
		errs[i] = errors.Join(errs[i], reads(s, last.UID, last.Status))
	}
	return errors.Join(errs...)
}

// onlyRead: the update is the sink's, but the pod in it is shared.
func onlyRead(ctx context.Context, s SinkUnderTest) error {
	u := update("a", 1, v1.PodRunning)
	before := u.Pod.DeepCopy()
	if err := s.Sink.Send(ctx, u); err != nil {
		return err
	}
	if !reflect.DeepEqual(before, u.Pod) {
		return errors.New("Send has changed the pod, which is shared")
	}
	return nil
}

// endsWithContext: nil still means that the status is stored.
func endsWithContext(ctx context.Context, s SinkUnderTest) error {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	u := update("a", 1, v1.PodRunning)
	done := make(chan error, 1)
	go func() { done <- s.Sink.Send(ctx, u) }()
	limit, end := context.WithTimeout(context.Background(), waitLimit)
	defer end()
	select {
	case err := <-done:
		if err != nil {
			return nil // It is sent again.
		}
		return reads(s, u.UID, u.Status)
	case <-limit.Done():
		return fmt.Errorf("Send has not returned %s after its context had ended", waitLimit)
	}
}
