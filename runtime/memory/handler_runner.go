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

// RunHandler implements runtime.HandlerRunner. The result is the Answer of the script, or success
// if there is no script.
func (r *Runtime) RunHandler(ctx context.Context, req runtime.RunHandlerRequest) (runtime.RunHandlerResult, error) {
	return instrumentCall(ctx, r, "RunHandler", req, (*Runtime).answerHandlerCall)
}

// answerHandlerCall counts a probe or hook call, waits as long as the scripted answer takes, and returns the
// answer's result. An answer of kind hang waits until ctx ends. It returns an error if the purpose is unknown.
// It also returns an error if the container does not run, or exits while the call waits.
func (r *Runtime) answerHandlerCall(ctx context.Context, req runtime.RunHandlerRequest) (runtime.RunHandlerResult, error) {
	c, a, until, err := r.m.countCallAndChooseAnswer(req)
	if err != nil {
		return runtime.RunHandlerResult{}, err
	}
	if a.Kind == AnswerHang || !until.IsZero() {
		running, err := r.waitWhileStateUntil(ctx, c, runtime.StateRunning, until)
		if err != nil {
			return runtime.RunHandlerResult{}, err
		}
		if !running {
			return runtime.RunHandlerResult{}, fmt.Errorf("memory: container %s exited before it answered: %w", c.id, runtime.ErrWrongState)
		}
	}
	return runtime.RunHandlerResult{OK: a.Kind == AnswerOK, Message: a.Message}, nil
}

// countCallAndChooseAnswer counts a RunHandler call and returns the running container and the answer that is
// valid now. It also returns the time at which the call must return. A zero time says that the call returns at
// once, or never if the answer is of kind hang. If the container does not run or the purpose is unknown, it
// returns an error and counts nothing.
func (m *machine) countCallAndChooseAnswer(req runtime.RunHandlerRequest) (c *container, answer Answer, returnAt time.Time, err error) {
	now, err := m.lockIfReady()
	if err != nil {
		return nil, Answer{}, time.Time{}, err
	}
	defer m.unlockAndSignal()
	c, err = m.runningContainerLocked(req.ContainerID, now)
	if err != nil {
		return nil, Answer{}, time.Time{}, err
	}
	if !slices.Contains(purposes, req.Purpose) {
		return nil, Answer{}, time.Time{}, fmt.Errorf("memory: purpose %q: %w", req.Purpose, runtime.ErrUnsupported)
	}
	m.ensureHistoryAndPruneOldLocked(c.ref.UID).countHandlerCall(handlerKey{c.name, req.Purpose})
	a := m.findAnswersLocked(c, req.Purpose).answerAfter(now.Sub(c.startAt))
	until := time.Time{}
	if a.Takes > 0 && a.Kind != AnswerHang {
		until = now.Add(a.Takes)
	}
	return c, a, until, nil
}

// runningContainerLocked returns the container with an ID. It returns an error if the container is unknown or
// does not run.
func (m *machine) runningContainerLocked(id string, now time.Time) (*container, error) {
	c := m.mu.containers[id]
	switch {
	case c == nil:
		return nil, fmt.Errorf("memory: container %s: %w", id, runtime.ErrNotFound)
	case c.state(now) != runtime.StateRunning:
		return nil, fmt.Errorf("memory: container %s does not run: %w", id, runtime.ErrWrongState)
	}
	return c, nil
}

// handlerKey identifies a probe or hook of a container within a pod.
type handlerKey struct {
	container string
	purpose   runtime.Purpose
}

// answerRule is one call of SetAnswers.
type answerRule struct {
	selector Selector
	purpose  runtime.Purpose
	answers  Answers
}

// SetAnswers sets the answers of all matching containers, present and future, for later calls. If
// several selectors match, the newest call of SetAnswers wins. A call with the same selector and
// purpose replaces the earlier one, and an empty sequence removes it. SetAnswers takes precedence
// over annotations.
func (r *Runtime) SetAnswers(selector Selector, purpose runtime.Purpose, answers Answers) {
	m := r.m
	m.lockAndPublish()
	defer m.unlockAndSignal()
	m.mu.answerRules = slices.DeleteFunc(m.mu.answerRules, func(o answerRule) bool { return o.selector == selector && o.purpose == purpose })
	if len(answers.Sequence) > 0 {
		answers.Sequence = slices.Clone(answers.Sequence)
		m.mu.answerRules = append(m.mu.answerRules, answerRule{selector, purpose, answers})
	}
}

// HandlerCalls returns how many probes or hooks of one purpose have reached the containers of a
// name in a pod. It counts all attempts, and only calls that found the container running.
func (r *Runtime) HandlerCalls(uid types.UID, container string, purpose runtime.Purpose) int {
	r.m.lockAndPublish()
	defer r.m.unlockAndSignal()
	if p := r.m.mu.histories[uid]; p != nil {
		return p.handlerCalls[handlerKey{container, purpose}]
	}
	return 0
}

// findAnswersLocked returns the scripted answers of a container for a purpose. The newest matching SetAnswers
// call takes precedence over the annotations.
func (m *machine) findAnswersLocked(c *container, purpose runtime.Purpose) Answers {
	for i := len(m.mu.answerRules) - 1; i >= 0; i-- {
		if o := m.mu.answerRules[i]; o.purpose == purpose && o.selector.Matches(*c.ref, c.name) {
			return o.answers
		}
	}
	return c.answers[purpose]
}

// parseAnswerAnnotationsFirstMapWins returns the scripted answers in the annotations of a container, by
// purpose. The first map takes precedence; the caller passes the annotations of the container and then of its
// sandbox. It returns an error for an unknown purpose or faulty answers.
func parseAnswerAnnotationsFirstMapWins(container string, annotations ...map[string]string) (map[runtime.Purpose]Answers, error) {
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
				return nil, fmt.Errorf("annotation %s: %w: unknown purpose %q; allowed are %v", key, ErrScript, word, purposes)
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
