package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// RunHandler implements runtime.HandlerRunner: by the script for the purpose, or else
// with a yes at once.
func (r *Runtime) RunHandler(ctx context.Context, req runtime.RunHandlerRequest) (runtime.RunHandlerResult, error) {
	return verb(ctx, r, "RunHandler", req, (*Runtime).answer)
}

func (r *Runtime) answer(ctx context.Context, req runtime.RunHandlerRequest) (runtime.RunHandlerResult, error) {
	c, a, until, err := r.m.ask(req)
	if err != nil {
		return runtime.RunHandlerResult{}, err
	}
	if a.Kind == AnswerHang || !until.IsZero() {
		running, err := r.awaitUntil(ctx, c, runtime.StateRunning, until)
		if err != nil {
			return runtime.RunHandlerResult{}, err
		}
		if !running {
			return runtime.RunHandlerResult{}, fmt.Errorf("memory: container %s ended before it answered: %w", c.id, runtime.ErrWrongState)
		}
	}
	return runtime.RunHandlerResult{OK: a.Kind == AnswerOK, Message: a.Message}, nil
}

// ask counts a question and says how it is answered, and when if not at once.
func (m *machine) ask(req runtime.RunHandlerRequest) (*container, Answer, time.Time, error) {
	now, err := m.lockReady()
	if err != nil {
		return nil, Answer{}, time.Time{}, err
	}
	defer m.unlock()
	c, err := m.runningLocked(req.ContainerID, now)
	if err != nil {
		return nil, Answer{}, time.Time{}, err
	}
	if !slices.Contains(purposes, req.Purpose) {
		return nil, Answer{}, time.Time{}, fmt.Errorf("memory: purpose %q: %w", req.Purpose, runtime.ErrUnsupported)
	}
	m.pastLocked(c.ref.UID).ask(question{c.name, req.Purpose})
	a := m.answersLocked(c, req.Purpose).at(now.Sub(c.start))
	until := time.Time{}
	if a.Takes > 0 && a.Kind != AnswerHang {
		until = now.Add(a.Takes)
	}
	return c, a, until, nil
}

// runningLocked finds a container that runs.
func (m *machine) runningLocked(id string, now time.Time) (*container, error) {
	c := m.mu.containers[id]
	switch {
	case c == nil:
		return nil, fmt.Errorf("memory: container %s: %w", id, runtime.ErrNotFound)
	case c.state(now) != runtime.StateRunning:
		return nil, fmt.Errorf("memory: container %s does not run: %w", id, runtime.ErrWrongState)
	}
	return c, nil
}

// question is what a container of a pod is asked for.
type question struct {
	container string
	purpose   runtime.Purpose
}

// reply is what SetAnswers was given.
type reply struct {
	to      For
	purpose runtime.Purpose
	answers Answers
}

// SetAnswers gives answers to present and future containers, for questions to
// come. Of several that match, those set last hold; those for the same For and
// purpose replace the earlier ones, and an empty sequence takes them back.
// Answers set here win over annotations.
func (r *Runtime) SetAnswers(to For, purpose runtime.Purpose, answers Answers) {
	m := r.m
	m.lock()
	defer m.unlock()
	m.mu.replies = slices.DeleteFunc(m.mu.replies, func(o reply) bool { return o.to == to && o.purpose == purpose })
	if len(answers.Sequence) > 0 {
		answers.Sequence = slices.Clone(answers.Sequence)
		m.mu.replies = append(m.mu.replies, reply{to, purpose, answers})
	}
}

// Asked is how often the containers of a name in a pod were asked while they
// ran, over all attempts, answered or not.
func (r *Runtime) Asked(uid types.UID, container string, purpose runtime.Purpose) int {
	r.m.lock()
	defer r.m.unlock()
	if p := r.m.mu.past[uid]; p != nil {
		return p.asked[question{container, purpose}]
	}
	return 0
}

// answersLocked finds the answers of a container.
func (m *machine) answersLocked(c *container, purpose runtime.Purpose) Answers {
	for i := len(m.mu.replies) - 1; i >= 0; i-- {
		if o := m.mu.replies[i]; o.purpose == purpose && o.to.Matches(*c.ref, c.name) {
			return o.answers
		}
	}
	return c.answers[purpose]
}

// parseReplies reads the annotations of a container that hold answers: those
// of its own request, and for the purposes they leave out those of its sandbox.
func parseReplies(container string, annotations ...map[string]string) (map[runtime.Purpose]Answers, error) {
	var answers map[runtime.Purpose]Answers
	prefix := AnnotationPrefix + container + "."
	for _, set := range annotations {
		var keys []string
		for key := range set {
			if strings.HasPrefix(key, prefix) {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		for _, key := range keys {
			word := key[len(prefix):]
			purpose := runtime.Purpose(word)
			if !slices.Contains(purposes, purpose) {
				return nil, fmt.Errorf("annotation %s: %w: there is no purpose %q; there are %v", key, ErrScript, word, purposes)
			}
			if _, ok := answers[purpose]; ok {
				continue
			}
			parsed, err := ParseAnswers(set[key])
			if err != nil {
				return nil, fmt.Errorf("annotation %s: %w", key, err)
			}
			if answers == nil {
				answers = map[runtime.Purpose]Answers{}
			}
			answers[purpose] = parsed
		}
	}
	return answers, nil
}
