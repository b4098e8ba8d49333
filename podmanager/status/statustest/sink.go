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

// SinkUnderTest is a Sink with access to what it stores.
type SinkUnderTest struct {
	// Sink is the Sink to check. It has received nothing.
	Sink status.Sink
	// Read returns the stored status of a pod, or false. One goroutine calls it after Send has
	// returned.
	Read func(uid types.UID) (v1.PodStatus, bool)
	// Trouble makes the destination fail from now on, and reports whether it can. It is called
	// between two calls of Send. Nil: it cannot, and the errors of Send are not checked.
	Trouble func(Trouble) bool
}

// RunSink checks that a Sink keeps its contract, in a subtest for each rule. It calls newSink once
// for each rule. newSink cleans up with t.Cleanup.
func RunSink(t *testing.T, newSink func(t *testing.T) SinkUnderTest) {
	for _, c := range sinkCases {
		t.Run(c.name, func(t *testing.T) {
			if err := c.check(t.Context(), newSink(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// maxSendWait is how long a Send may take after its context has ended.
const maxSendWait = 10 * time.Second

type sinkCase struct {
	name  string
	check func(ctx context.Context, s SinkUnderTest) error
}

var sinkCases = []sinkCase{
	{"AStatusIsStored", checkStored},
	{"TheNewestIsStored", checkNewestStored},
	{"TheSameTwiceIsNoError", checkSameTwice},
	{"AfterARestartVersionsBeginAnew", checkVersionsRestart},
	{"APodThatComesAgainIsAnotherOne", checkNewEpoch},
	{"ARemovalIsNoError", checkRemoval},
	{"DifferentPodsAtOnce", checkConcurrentPods},
	{"ThePodIsOnlyRead", checkPodUnchanged},
	{"SendEndsWithItsContext", checkContextEnd},
	{"WhoIsUnreachableIsAskedAgain", newTroubleCheck(Unreachable)},
	{"WhoIsBusyIsAskedAgain", newTroubleCheck(Busy)},
	{"ARefusalIsErrRefused", newTroubleCheck(Refuses)},
	{"APodThatIsNotThereIsErrNotYet", newTroubleCheck(NotYet)},
}

// newUpdate returns an update as a Sender sends it, of a pod with one container, in status epoch 1.
func newUpdate(uid types.UID, version uint64, phase v1.PodPhase) status.Update {
	return status.Update{
		UID: uid, Version: version, StatusEpoch: 1,
		Pod: &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{UID: uid, Name: "pod-" + string(uid), Namespace: "default"},
			Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "img:1"}}},
		},
		Status: v1.PodStatus{Phase: phase, Message: fmt.Sprint("version ", version)},
	}
}

// sendAndCompare sends updates in order. It returns an error if a Send fails or if the stored status then
// differs from the last update.
func sendAndCompare(ctx context.Context, s SinkUnderTest, updates ...status.Update) error {
	for _, u := range updates {
		if err := s.Sink.Send(ctx, u); err != nil {
			return fmt.Errorf("Send of %s: %w", u.Status.Message, err)
		}
	}
	last := updates[len(updates)-1]
	return comparePhaseAndMessageStored(s, last.UID, last.Status)
}

// comparePhaseAndMessageStored returns an error if the sink has no status of the pod, or one with another phase
// or message than want. It compares no other field.
func comparePhaseAndMessageStored(s SinkUnderTest, uid types.UID, want v1.PodStatus) error {
	got, ok := s.Read(uid)
	switch {
	case !ok:
		return errors.New("Send has returned nil and nothing is stored")
	case got.Phase != want.Phase || got.Message != want.Message:
		return fmt.Errorf("Send of %s %q has returned nil, and %s %q is stored", want.Phase, want.Message, got.Phase, got.Message)
	}
	return nil
}

func checkStored(ctx context.Context, s SinkUnderTest) error {
	return sendAndCompare(ctx, s, newUpdate("a", 1, v1.PodRunning))
}

func checkNewestStored(ctx context.Context, s SinkUnderTest) error {
	return sendAndCompare(ctx, s, newUpdate("a", 1, v1.PodPending), newUpdate("a", 2, v1.PodRunning), newUpdate("a", 5, v1.PodFailed))
}

// checkSameTwice sends the same status twice, as a restarted agent does. It returns an error if the sink does
// not have the status afterwards.
func checkSameTwice(ctx context.Context, s SinkUnderTest) error {
	return sendAndCompare(ctx, s, newUpdate("a", 3, v1.PodRunning), newUpdate("a", 3, v1.PodRunning))
}

// checkVersionsRestart sends a status and then one with a lower version, because a restarted agent counts
// versions from one. It returns an error if the sink does not have the second one then.
func checkVersionsRestart(ctx context.Context, s SinkUnderTest) error {
	return sendAndCompare(ctx, s, newUpdate("a", 7, v1.PodRunning), newUpdate("a", 1, v1.PodFailed))
}

// checkNewEpoch sends a terminal phase, and then Running in a new status epoch (the status of another pod with
// the same UID). A new epoch may leave a terminal phase. It returns an error if the sink does not have Running
// afterwards.
func checkNewEpoch(ctx context.Context, s SinkUnderTest) error {
	again := newUpdate("a", 3, v1.PodRunning)
	again.StatusEpoch = 2
	return sendAndCompare(ctx, s, newUpdate("a", 2, v1.PodFailed), again)
}

// checkRemoval returns an error if the removal of a known, a removed or an unknown pod fails, or if a status of
// the pod cannot be sent after its removal.
func checkRemoval(ctx context.Context, s SinkUnderTest) error {
	if err := sendAndCompare(ctx, s, newUpdate("a", 1, v1.PodRunning)); err != nil {
		return err
	}
	for _, uid := range []types.UID{"a", "a", "unknown"} {
		if err := s.Sink.Send(ctx, status.Update{UID: uid, Removed: true}); err != nil {
			return fmt.Errorf("Send of the removal of pod %q: %w", uid, err)
		}
	}
	return sendAndCompare(ctx, s, newUpdate("a", 2, v1.PodRunning))
}

func checkConcurrentPods(ctx context.Context, s SinkUnderTest) error {
	const pods, versions = 16, 8
	var (
		group sync.WaitGroup
		errs  = make([]error, pods)
	)
	for i := range pods {
		group.Go(func() {
			for version := range uint64(versions) {
				errs[i] = errors.Join(errs[i], s.Sink.Send(ctx, newUpdate(types.UID(fmt.Sprint(i)), version+1, v1.PodRunning)))
			}
		})
	}
	group.Wait()
	for i := range pods {
		last := newUpdate(types.UID(fmt.Sprint(i)), versions, v1.PodRunning)
		errs[i] = errors.Join(errs[i], comparePhaseAndMessageStored(s, last.UID, last.Status))
	}
	return errors.Join(errs...)
}

// checkPodUnchanged returns an error if Send fails or has changed the pod of the update, which other code
// shares.
func checkPodUnchanged(ctx context.Context, s SinkUnderTest) error {
	u := newUpdate("a", 1, v1.PodRunning)
	before := u.Pod.DeepCopy()
	if err := s.Sink.Send(ctx, u); err != nil {
		return err
	}
	if !reflect.DeepEqual(before, u.Pod) {
		return errors.New("Send has changed the pod, which is shared")
	}
	return nil
}

// checkContextEnd returns an error if Send with a cancelled context does not return in time. It also returns an
// error if that Send returns nil without storing the status. Send may return any error.
func checkContextEnd(ctx context.Context, s SinkUnderTest) error {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	u := newUpdate("a", 1, v1.PodRunning)
	done := make(chan error, 1)
	go func() { done <- s.Sink.Send(ctx, u) }()
	limit, end := context.WithTimeout(context.Background(), maxSendWait)
	defer end()
	select {
	case err := <-done:
		if err != nil {
			return nil // It is sent again.
		}
		return comparePhaseAndMessageStored(s, u.UID, u.Status)
	case <-limit.Done():
		return fmt.Errorf("Send has not returned %s after its context had ended", maxSendWait)
	}
}
