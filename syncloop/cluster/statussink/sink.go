package statussink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/contact"
	"github.com/podkeel/podkeel/syncloop/internal/patch"
)

// Config configures a Sink. Pods is required.
type Config struct {
	// Pods writes the statuses.
	Pods apiserver.Pods
	// Contact records the result of every call. It may be nil.
	Contact *contact.Contact
	// StatusWritten is called with the pod in the response to each patch, for example feed.Pods.RecordWrite. It must
	// not block, and may be nil.
	StatusWritten func(pod *v1.Pod)
	// Log receives a message for each refusal that an administrator should see. Nil discards.
	Log *slog.Logger
}

// Sink writes statuses to an API server. Make one with New. Its methods are safe for concurrent use, but Send is called
// sequentially for one pod.
type Sink struct {
	cfg Config

	mu struct {
		sync.Mutex
		records   map[types.UID]*record // key: UID at the server
		mirrors   map[string]*v1.Pod    // key: full name
		statics   map[types.UID]string  // full name of each static pod whose status was sent
		resend    func(types.UID)
		resendNow func(types.UID)
	}
}

var _ status.Sink = (*Sink)(nil)

// New returns a Sink that knows no pod. The error names a fault of the configuration.
func New(cfg Config) (*Sink, error) {
	if cfg.Pods == nil {
		return nil, errors.New("statussink: Config.Pods is nil")
	}
	if cfg.Contact == nil {
		cfg.Contact = contact.New(contact.Config{})
	}
	contain.SetDefault(&cfg.StatusWritten, func(*v1.Pod) {})
	cfg.Log = contain.New(contain.Config{Package: "status", Log: cfg.Log}).Log()
	s := &Sink{cfg: cfg}
	s.mu.records = map[types.UID]*record{}
	s.mu.mirrors, s.mu.statics = map[string]*v1.Pod{}, map[types.UID]string{}
	s.SetResend(func(types.UID) {}, func(types.UID) {})
	return s, nil
}

// SetResend sets the functions by which the Sink requests that a status is sent again, with the UID of the pod that
// runs. It calls resend if another writer has changed the status, and resendNow for the static pods of a new mirror pod.
// Call SetResend once before the first Send, with functions that do not block: status.Sender.Resend and ResendNow.
func (s *Sink) SetResend(resend, resendNow func(uid types.UID)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.resend, s.mu.resendNow = resend, resendNow
}

// Send implements status.Sink.
func (s *Sink) Send(ctx context.Context, u status.Update) error {
	if u.Removed {
		s.forgetWantedStatus(u)
		return nil
	}
	ref, at := s.storeWantedAndFindPod(&u)
	switch at {
	case podGone:
		return nil
	case noMirrorPod:
		return fmt.Errorf("%w: the static pod has no mirror pod", status.ErrNotYet)
	}
	if s.hasServerLostDeletion(&u, ref.UID) {
		if err := s.rereadOrForgetPod(ctx, ref); err != nil {
			return err
		}
	}
	if err := s.patchStatusRetryingConflicts(ctx, ref, &u); err != nil {
		return err
	}
	if s.recordRemovalWaitIfFirst(ref.UID) {
		return status.RetryAfter(errNotRemoved, removalRetryDelay)
	}
	if !s.needsFinalDelete(ref.UID, u.Finished) {
		return nil
	}
	if s.hasOutageBegunSinceLastSeen(ref.UID) {
		if err := s.rereadOrForgetPod(ctx, ref); err != nil || !s.needsFinalDelete(ref.UID, u.Finished) {
			return err
		}
	}
	gracePeriod := int64(0)
	err := s.cfg.Pods.Delete(ctx, ref, &gracePeriod)
	s.cfg.Contact.Report(err)
	switch answer := patch.AnswerToDelete(err); answer.Kind {
	case patch.Done:
		s.markDeleteAccepted(ref.UID)
		return nil
	case patch.Gone:
		// The server looks up the pod in a cache, which lags after its start. The next patch or deletion shows whether
		// the pod is gone.
		s.markStatusUnknown(ref.UID)
		return status.RetryAfter(err, answer.After)
	default:
		return s.handleFailedCallAndConvertError(ctx, ref, answer, err)
	}
}

// maxConflicts bounds how often one Send finds a newer state at the server.
const maxConflicts = 3

// errStale is returned if the server had a newer state of the pod. The sink knows that state now.
var errStale = errors.New("statussink: the pod has changed at the server")

// errNotRemoved is returned if the server is still removing a force-deleted pod. The removal takes milliseconds. If it
// has not happened after removalRetryDelay, the server was interrupted.
var errNotRemoved = errors.New("statussink: the server has not removed the pod yet")

const removalRetryDelay = time.Second

// patchStatusRetryingConflicts sends the status if it differs from the server's, and retries up to maxConflicts
// times if the pod has changed at the server. The error is ErrNotYet if the server has lost the pod's deletion,
// or if the server is removing a pod that has not finished. It sends nothing for a finished pod that is being
// removed.
func (s *Sink) patchStatusRetryingConflicts(ctx context.Context, ref apiserver.PodRef, u *status.Update) (err error) {
	for range maxConflicts {
		switch {
		case s.hasServerLostDeletion(u, ref.UID):
			return fmt.Errorf("%w: the pod is older at the server than the pod of the status", status.ErrNotYet)
		case !s.isBeingRemoved(ref.UID):
			err = s.patchStatus(ctx, ref)
		case u.Finished:
			return nil
		default:
			return fmt.Errorf("%w: the server removes the pod", status.ErrNotYet)
		}
		if !errors.Is(err, errStale) {
			return err
		}
	}
	return status.RetryAfter(err, 0)
}

// patchStatus sends the difference between the wanted and the known status, or nothing if they are equal. It
// stores the pod in the response and calls Config.StatusWritten. After an error the status at the server counts
// as unknown.
func (s *Sink) patchStatus(ctx context.Context, ref apiserver.PodRef) error {
	raw, err := s.statusPatch(ref.UID)
	if err != nil {
		return fmt.Errorf("%w: %w", status.ErrRefused, err)
	}
	if raw == nil {
		return nil
	}
	pod, err := s.cfg.Pods.PatchStatus(ctx, ref, raw)
	s.cfg.Contact.Report(err)
	if answer := patch.AnswerToPatch(err); answer.Kind != patch.Done {
		s.markStatusUnknown(ref.UID)
		return s.handleFailedCallAndConvertError(ctx, ref, answer, err)
	}
	s.recordPatchedPod(ref.UID, pod)
	s.cfg.StatusWritten(pod)
	return nil
}

// handleFailedCallAndConvertError converts the error of a call to an error for the status sender. If the pod is
// gone, it forgets the pod and returns nil. After a conflict it reads and stores the pod; errStale means that
// the caller may try again with the stored pod.
func (s *Sink) handleFailedCallAndConvertError(ctx context.Context, ref apiserver.PodRef, answer patch.Answer, err error) error {
	if answer.Kind == patch.Conflict {
		pod, readErr := s.getPodAndReport(ctx, ref)
		if readErr == nil && s.recordReadPod(ref.UID, pod) {
			return fmt.Errorf("%w: %w", errStale, err)
		}
		if answer = patch.AnswerToGet(ref.UID, pod, readErr); readErr != nil {
			err = errors.Join(err, readErr)
		}
	}
	switch answer.Kind {
	case patch.Gone, patch.OtherUID:
		s.forgetPodAndMarkGone(ref.UID, false)
		return nil
	case patch.WaitAll:
		return status.Unavailable(err, answer.After)
	case patch.Refused:
		return fmt.Errorf("%w: %w", status.ErrRefused, err)
	}
	if answer.Forbidden {
		s.cfg.Log.Error("the API server denies access to a pod of this node", "pod", ref.Namespace+"/"+ref.Name, "uid", ref.UID, "err", err)
	}
	return status.RetryAfter(err, answer.After)
}

// getPodAndReport reads the pod from the server, and reports the result to the Contact, which tracks whether
// the server answers.
func (s *Sink) getPodAndReport(ctx context.Context, ref apiserver.PodRef) (*v1.Pod, error) {
	pod, err := s.cfg.Pods.Get(ctx, ref.Namespace, ref.Name)
	s.cfg.Contact.Report(err)
	return pod, err
}

// rereadOrForgetPod reads the pod from the server and stores it. If the server does not have the pod with this
// UID, it forgets the pod and returns nil. It returns any other error of the read.
func (s *Sink) rereadOrForgetPod(ctx context.Context, ref apiserver.PodRef) error {
	pod, err := s.getPodAndReport(ctx, ref)
	if err == nil && s.recordReadPod(ref.UID, pod) {
		return nil
	}
	answer := patch.AnswerToGet(ref.UID, pod, err)
	if err == nil {
		err = errStale // The pod is gone, or the server has another pod of the name.
	}
	return s.handleFailedCallAndConvertError(ctx, ref, answer, err)
}

// A destination says whether the server has a pod to which a status can be sent.
type destination int

const (
	podAtServer destination = iota
	podGone                 // the server has shown that the pod is gone
	noMirrorPod             // the server has no mirror pod of the static pod
)

// storeWantedAndFindPod stores the wanted status and returns the reference of the pod at the server, which is
// the mirror pod for a static pod. It stores no status if a static pod has no mirror pod or the pod is gone;
// the destination says which case it is.
func (s *Sink) storeWantedAndFindPod(u *status.Update) (apiserver.PodRef, destination) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ref := apiserver.PodRef{Namespace: u.Pod.Namespace, Name: u.Pod.Name, UID: u.UID}
	if podmanager.IsStaticPod(u.Pod) {
		name := podmanager.FullName(u.Pod)
		s.mu.statics[u.UID] = name
		mirror := s.mu.mirrors[name]
		if mirror == nil || !podmanager.IsMirrorPodOf(mirror, u.Pod) {
			return ref, noMirrorPod
		}
		ref.UID = mirror.UID
	}
	r := s.getOrCreateRecordLocked(ref.UID)
	if r.gone {
		return ref, podGone
	}
	r.local, r.wanted = u.UID, &u.Status
	return ref, podAtServer
}

// statusPatch returns the patch that makes the status at the server the wanted one, with the known resource
// version as a precondition. It returns nil if nothing differs, or if the difference is one that the server did
// not adopt from an earlier patch.
func (s *Sink) statusPatch(uid types.UID) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.getOrCreateRecordLocked(uid)
	if r.wanted == nil {
		return nil, nil // The watch has shown meanwhile that the pod is gone.
	}
	raw, err := patch.PodStatus(uid, r.knownStatus(), r.wanted)
	if err != nil || raw == nil || r.residue != nil && bytes.Equal(raw, r.residue) {
		return nil, err
	}
	if r.patchVersion = ""; r.knownStatus() == nil || r.server.ResourceVersion == "" {
		return raw, nil
	}
	r.patchVersion = r.server.ResourceVersion
	return patch.WithVersion(raw, r.patchVersion)
}

// getOrCreateRecordLocked returns what the sink stores about the pod with this UID, and adds an empty record
// for a new UID.
func (s *Sink) getOrCreateRecordLocked(uid types.UID) *record {
	r := s.mu.records[uid]
	if r == nil {
		r = &record{}
		s.mu.records[uid] = r
	}
	return r
}
