package memory

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

// Answers is the sequence of results that a container gives to the probes or hooks of one purpose.
// Each start of the container begins with the first Answer. After the duration of the last Answer,
// every call succeeds at once, as without a script.
type Answers struct{ Sequence []Answer }

// Answer is the result of a probe or hook during one period. The zero value succeeds at once, for
// ever.
type Answer struct {
	// Kind is the result: success, failure or no reply.
	Kind AnswerKind
	// For is the length of the period; zero is for ever.
	For time.Duration
	// Takes is how long each call takes. The Answer in force at the beginning of the call is the
	// result. AnswerHang ignores Takes.
	Takes time.Duration
	// Message is the output of the probe or hook.
	Message string
}

// AnswerKind is the kind of result that a probe or hook has.
type AnswerKind uint8

// The kinds of answers.
const (
	// AnswerOK succeeds.
	AnswerOK AnswerKind = iota
	// AnswerFail fails.
	AnswerFail
	// AnswerHang does not return before the context or the container ends.
	AnswerHang
)

var answerNames = [...]string{AnswerOK: "ok", AnswerFail: "fail", AnswerHang: "hang"}

// String returns the word that ParseAnswers reads.
func (k AnswerKind) String() string {
	if int(k) < len(answerNames) {
		return answerNames[k]
	}
	return "AnswerKind(" + strconv.Itoa(int(k)) + ")"
}

// answerSyntax lists the allowed words. Every parse error of answers ends with it.
const answerSyntax = "allowed are ok|fail|hang, for=<duration>, takes=<duration>, message=<text>"

// ParseAnswers parses the text of an answers annotation. Semicolons separate the answers. Each
// answer is a list of words separated by spaces.
//
//	ok|fail|hang      the result; hang never returns
//	for=<duration>    length of the period, before the next answer; for ever without it
//	takes=<duration>  how long each call takes
//	message=<text>    the output of the probe or hook
//
// A parse error wraps ErrScript. It names the answer, the word and the allowed words.
func ParseAnswers(text string) (Answers, error) {
	parts, err := splitScript(text)
	if err != nil {
		return Answers{}, fmt.Errorf("%w: %w; %s", ErrScript, err, answerSyntax)
	}
	var s Answers
	for i, words := range parts {
		a, err := parseAnswer(words, i == len(parts)-1)
		if err != nil {
			return Answers{}, fmt.Errorf("%w: answer %d: %w; %s", ErrScript, i+1, err, answerSyntax)
		}
		s.Sequence = append(s.Sequence, a)
	}
	return s, nil
}

// parseAnswer parses the words of one scripted probe or hook answer, such as ok for=5s. It returns an error if
// the words have no kind, repeat a key, or cannot be parsed. It also returns an error if for= is missing and
// isLast is false, because no answer could follow.
func parseAnswer(words []string, isLast bool) (Answer, error) {
	if len(words) == 0 {
		return Answer{}, errors.New("it is empty")
	}
	var a Answer
	said := map[string]bool{}
	for _, word := range words {
		key, value, hasValue := strings.Cut(word, "=")
		name := key
		if _, ok := parseAnswerKind(key); ok {
			name = "the kind of answer"
		}
		if said[name] {
			return Answer{}, fmt.Errorf("%q: %s is said twice", word, name)
		}
		said[name] = true
		if err := a.parseWord(key, value, hasValue); err != nil {
			return Answer{}, fmt.Errorf("%q: %w", word, err)
		}
	}
	switch {
	case !said["the kind of answer"]:
		return Answer{}, errors.New("it says neither ok nor fail nor hang")
	case !isLast && !said["for"]:
		return Answer{}, errors.New("without for= it holds for ever, and none can follow")
	}
	return a, nil
}

// parseWord sets the field that key names in the answer. It returns an error for an unknown key and for a value
// that cannot be parsed.
func (a *Answer) parseWord(key, value string, hasValue bool) (err error) {
	if kind, ok := parseAnswerKind(key); ok && !hasValue {
		a.Kind = kind
		return nil
	}
	switch {
	case key == "for" && hasValue:
		if a.For, err = parseDuration(value); err == nil && a.For == 0 {
			err = errors.New("it would never hold")
		}
	case key == "takes" && hasValue:
		a.Takes, err = parseDuration(value)
	case key == "message" && hasValue:
		a.Message, err = parseText(value)
	default:
		return errors.New("not a word of an answer")
	}
	return err
}

// parseAnswerKind returns the kind of answer that word names. It returns false if word names no kind.
func parseAnswerKind(word string) (AnswerKind, bool) {
	for k, name := range answerNames {
		if name == word {
			return AnswerKind(k), true
		}
	}
	return 0, false
}

// String returns the answer in the syntax of ParseAnswers.
func (a Answer) String() string {
	w := []string{a.Kind.String()}
	if a.For > 0 {
		w = append(w, "for="+a.For.String())
	}
	if a.Takes > 0 {
		w = append(w, "takes="+a.Takes.String())
	}
	if a.Message != "" {
		w = append(w, "message="+strconv.Quote(a.Message))
	}
	return strings.Join(w, " ")
}

// String returns the answers in the syntax of ParseAnswers.
func (s Answers) String() string {
	parts := make([]string, len(s.Sequence))
	for i, a := range s.Sequence {
		parts[i] = a.String()
	}
	return strings.Join(parts, "; ")
}

// answerAfter returns the answer that is valid at a time since the start of the container. After the end of the
// sequence it returns the zero Answer, which is success at once.
func (s Answers) answerAfter(sinceStart time.Duration) Answer {
	for _, a := range s.Sequence {
		if a.For <= 0 || sinceStart < a.For {
			return a
		}
		sinceStart -= a.For
	}
	return Answer{}
}

// purposes are the purposes that an annotation or RunHandler may name.
var purposes = []runtime.Purpose{
	runtime.LivenessProbe, runtime.ReadinessProbe, runtime.StartupProbe, runtime.PostStartHook, runtime.PreStopHook,
}
