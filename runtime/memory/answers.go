package memory

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/podkeel/podkeel/runtime"
)

// Answers say how a container answers the probes or hooks of one purpose, over
// the time since it started: each start begins with the first answer. When the
// last one's time is over the answer is that of no script: yes, at once.
type Answers struct{ Sequence []Answer }

// Answer is how a container answers for a while. The zero value is yes, at once
// and for ever.
type Answer struct {
	// Kind is what the container does.
	Kind AnswerKind
	// For is how long it does that; zero is for ever.
	For time.Duration
	// Takes is how long each answer takes. What holds when the container is
	// asked is the answer. One that hangs takes for ever.
	Takes time.Duration
	// Message is what it says besides.
	Message string
}

// AnswerKind is what a container does that is asked something.
type AnswerKind uint8

// The kinds of answers.
const (
	// AnswerOK is a yes.
	AnswerOK AnswerKind = iota
	// AnswerFail is a no.
	AnswerFail
	// AnswerHang gives no answer: the call waits until its context ends, or the
	// container does.
	AnswerHang
)

var answerNames = [...]string{AnswerOK: "ok", AnswerFail: "fail", AnswerHang: "hang"}

// String is the word for it in a script.
func (k AnswerKind) String() string {
	if int(k) < len(answerNames) {
		return answerNames[k]
	}
	return "AnswerKind(" + strconv.Itoa(int(k)) + ")"
}

// answerSyntax ends every complaint about answers that cannot be read.
const answerSyntax = "allowed are ok|fail|hang, for=<duration>, takes=<duration>, message=<text>"

// ParseAnswers reads the text of an annotation with answers, separated by
// semicolons, each of them words separated by spaces.
//
//	ok|fail|hang      what the container does
//	for=<duration>    for how long, and then the next; for ever without it
//	takes=<duration>  how long each answer takes
//	message=<text>    what it says besides
//
// An error is an ErrScript and names the answer, the word and what is allowed.
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

func parseAnswerKind(word string) (AnswerKind, bool) {
	for k, name := range answerNames {
		if name == word {
			return AnswerKind(k), true
		}
	}
	return 0, false
}

// String is the answer in the words of a script.
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

// String is the answers as ParseAnswers reads them.
func (s Answers) String() string {
	parts := make([]string, len(s.Sequence))
	for i, a := range s.Sequence {
		parts[i] = a.String()
	}
	return strings.Join(parts, "; ")
}

// answerAfter is the answer to who asks some time after the start.
func (s Answers) answerAfter(sinceStart time.Duration) Answer {
	for _, a := range s.Sequence {
		if a.For <= 0 || sinceStart < a.For {
			return a
		}
		sinceStart -= a.For
	}
	return Answer{}
}

// purposes are what a container can be asked for.
var purposes = []runtime.Purpose{
	runtime.LivenessProbe, runtime.ReadinessProbe, runtime.StartupProbe, runtime.PostStartHook, runtime.PreStopHook,
}
