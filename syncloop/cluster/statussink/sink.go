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

// Config is what a Sink is made of. Pods is required.
type Config struct {
	// Pods is where statuses go.
	Pods apiserver.Pods
	// Contact learns from every call. It may be nil.
	Contact *contact.Contact
	// StatusWritten is called with the pod in the answer to each patch, such as feed.Pods.RecordWrite. It
	// must not block, and may be nil.
	StatusWritten func(pod *v1.Pod)
	// Log gets a line for each refusal that a person should know. Nil discards.
	Log *slog.Logger
}

// Sink brings statuses to an API server. Make one with New. Its methods are safe for
// concurrent use; for one pod, Send is called once at a time.
type Sink struct {
	cfg Config

	mu struct {
		sync.Mutex
		records map[types.UID]*record // by the UID at the server
		mirrors map[string]*v1.Pod    // by full name
		statics map[types.UID]string  // the full names of those that were sent
		resend  func(types.UID)
		now     func(types.UID)
	}
}

var _ status.Sink = (*Sink)(nil)

// New returns a Sink that knows no pod. Its error says what is wrong with the configuration.
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

// SetResend has the Sink ask for a status again, by the UID of the pod that runs: by resend if
// another writer has changed it, and by now if there is a new mirror pod. It is called once,
// before the first Send, with functions that do not block: status.Sender.Resend and ResendNow.
func (s *Sink) SetResend(resend, now func(uid types.UID)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.resend, s.mu.now = resend, now
}

// Send implements status.Sink.
func (s *Sink) Send(ctx context.Context, u status.Update) error {
	if u.Removed {
		s.forget(u)
		return nil
	}
	ref, at := s.begin(&u)
	switch at {
	case podGone:
		return nil
	case noMirrorPod:
		return fmt.Errorf("%w: the static pod has no mirror pod", status.ErrNotYet)
	}
	if s.isNewer(&u, ref.UID) {
		if err := s.refresh(ctx, ref); err != nil {
			return err
		}
	}
	if err := s.write(ctx, ref, &u); err != nil {
		return err
	}
	if s.awaits(ref.UID) {
		return status.RetryAfter(errRemoved, removalTime)
	}
	if !s.finalDelete(ref.UID, u.Finished) {
		return nil
	}
	if s.isFromBeforeOutage(ref.UID) {
		if err := s.refresh(ctx, ref); err != nil || !s.finalDelete(ref.UID, u.Finished) {
			return err
		}
	}
	now := int64(0)
	err := s.cfg.Pods.Delete(ctx, ref, &now)
	s.cfg.Contact.Report(err)
	switch answer := patch.AnswerToDelete(err); answer.Kind {
	case patch.Done:
		s.removes(ref.UID)
		return nil
	case patch.Gone:
		// The server looks the pod up in a cache, which lags behind after its start. The next
		// patch finds out for certain, or else the next deletion.
		s.unsure(ref.UID)
		return status.RetryAfter(err, answer.After)
	default:
		return s.failed(ctx, ref, answer, err)
	}
}

// maxConflicts bounds how often one Send meets a state that is newer than the known one.
const maxConflicts = 3

// errStale is that the server had another state of the pod than was known. That is known now.
var errStale = errors.New("statussink: the pod has changed at the server meanwhile")

// errRemoved is that the server removes a pod that was deleted with force. It takes milliseconds for
// that. After removalTime it was ended meanwhile.
var errRemoved = errors.New("statussink: the server has not removed the pod yet")

const removalTime = time.Second

// write sends what the server does not have, unless it removes the pod.
func (s *Sink) write(ctx context.Context, ref apiserver.PodRef, u *status.Update) (err error) {
	for range maxConflicts {
		switch {
		case s.isNewer(u, ref.UID):
			return fmt.Errorf("%w: the pod is older at the server than the pod of the status", status.ErrNotYet)
		case !s.removed(ref.UID):
			err = s.patch(ctx, ref)
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

// patch sends the difference to the state that is known.
func (s *Sink) patch(ctx context.Context, ref apiserver.PodRef) error {
	raw, err := s.difference(ref.UID)
	if err != nil {
		return fmt.Errorf("%w: %w", status.ErrRefused, err)
	}
	if raw == nil {
		return nil
	}
	pod, err := s.cfg.Pods.PatchStatus(ctx, ref, raw)
	s.cfg.Contact.Report(err)
	if answer := patch.AnswerToPatch(err); answer.Kind != patch.Done {
		s.unsure(ref.UID)
		return s.failed(ctx, ref, answer, err)
	}
	s.acknowledge(ref.UID, pod)
	s.cfg.StatusWritten(pod)
	return nil
}

// failed is what an answer means for the Sender. After a conflict the pod is read, to tell
// another pod of the name from a state that was not known.
func (s *Sink) failed(ctx context.Context, ref apiserver.PodRef, answer patch.Answer, err error) error {
	if answer.Kind == patch.Conflict {
		pod, readErr := s.get(ctx, ref)
		if readErr == nil && s.read(ref.UID, pod) {
			return fmt.Errorf("%w: %w", errStale, err)
		}
		if answer = patch.AnswerToGet(ref.UID, pod, readErr); readErr != nil {
			err = errors.Join(err, readErr)
		}
	}
	switch answer.Kind {
	case patch.Gone, patch.OtherUID:
		s.remove(ref.UID, false)
		return nil
	case patch.WaitAll:
		return status.Unavailable(err, answer.After)
	case patch.Refused:
		return fmt.Errorf("%w: %w", status.ErrRefused, err)
	}
	if answer.Forbidden {
		s.cfg.Log.Error("the API server denies this node a pod that it runs", "pod", ref.Namespace+"/"+ref.Name, "uid", ref.UID, "err", err)
	}
	return status.RetryAfter(err, answer.After)
}

// get reads the pod from the server.
func (s *Sink) get(ctx context.Context, ref apiserver.PodRef) (*v1.Pod, error) {
	pod, err := s.cfg.Pods.Get(ctx, ref.Namespace, ref.Name)
	s.cfg.Contact.Report(err)
	return pod, err
}

// refresh reads the pod from the server and stores its state.
func (s *Sink) refresh(ctx context.Context, ref apiserver.PodRef) error {
	pod, err := s.get(ctx, ref)
	if err == nil && s.read(ref.UID, pod) {
		return nil
	}
	return s.failed(ctx, ref, patch.AnswerToGet(ref.UID, pod, err), err)
}

// A destination says whether the server has a pod that a status can be sent to.
type destination int

const (
	podAtServer destination = iota
	podGone                 // the server has shown that the pod is gone
	noMirrorPod             // the server has no mirror pod of the static pod
)

// begin records the status that is sent. It returns the pod at the server.
func (s *Sink) begin(u *status.Update) (apiserver.PodRef, destination) {
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
	r := s.recordLocked(ref.UID)
	if r.gone {
		return ref, podGone
	}
	r.local, r.want = u.UID, &u.Status
	return ref, podAtServer
}

// difference is the patch to send, for the version that is known; nil if the server has what the
// node says, or did not take over the rest when it was sent.
func (s *Sink) difference(uid types.UID) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.recordLocked(uid)
	raw, err := patch.PodStatus(uid, r.status(), r.want)
	if err != nil || raw == nil || r.residue != nil && bytes.Equal(raw, r.residue) {
		return nil, err
	}
	if r.based = ""; r.status() == nil || r.server.ResourceVersion == "" {
		return raw, nil
	}
	r.based = r.server.ResourceVersion
	return patch.WithVersion(raw, r.based)
}

func (s *Sink) recordLocked(uid types.UID) *record {
	r := s.mu.records[uid]
	if r == nil {
		r = &record{}
		s.mu.records[uid] = r
	}
	return r
}
