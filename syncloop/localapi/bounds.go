package localapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/podkeel/podkeel/internal/document"
	"github.com/podkeel/podkeel/internal/podfields"
)

// The bounds of a request. A value of two bytes can become a struct of a thousand, so not only bytes
// are counted.
const (
	// mostBody bounds the body of a request, in bytes, and mostYAML one in YAML, whose
	// values are counted after they were read.
	mostBody = 1 << 20
	mostYAML = 256 << 10
	// mostValues bounds the values of a body: objects, lists, and items and fields of them.
	mostValues = 20_000
	// mostLevels bounds how deep they lie in each other. A pod needs under 20 levels.
	mostLevels = 100
	// mostPod bounds one pod as it is kept, in JSON, in bytes, and mostKept all of them.
	// A checkpoint.Pods keeps no larger ones.
	mostPod  = 250_000
	mostKept = 32 << 20
	// mostPods bounds the pods that clients have created and that are not gone.
	mostPods = 1000
)

// protobuf begins each object of that form.
var protobuf = []byte("k8s\x00")

// convertYAML returns a body as it is decoded: one in YAML as JSON, any other one as it is. Aliases are
// counted before they are written out. Its error has the code 413 if the body is beyond a bound, and
// 400 if it cannot be read. duplicates are the fields that an object of a body in YAML has twice.
func convertYAML(text []byte) (body []byte, duplicates document.Faults, err error) {
	trimmed := bytes.TrimSpace(text)
	switch {
	case bytes.HasPrefix(text, protobuf), len(trimmed) == 0, trimmed[0] == '{', trimmed[0] == '[':
		return text, nil, nil
	case len(text) > mostYAML:
		return nil, nil, tooMuch("limit is %d bytes of YAML", mostYAML)
	}
	body, duplicates, faults := document.JSON(text, document.Bounds{Bytes: mostBody, Memory: mostBody})
	switch {
	case len(faults) == 0:
		return body, duplicates, nil
	case slices.ContainsFunc(faults, func(f document.Fault) bool { return f.Kind == document.BeyondBound }):
		return nil, nil, tooMuch("%s", faults.InOrder())
	}
	return nil, nil, apierrors.NewBadRequest("the body cannot be read: " + faults.InOrder().Error())
}

// bounded is an error of code 413 for a body, in JSON or protobuf, that would take too much memory or
// time.
func bounded(text []byte, into k8sruntime.Object) error {
	m := &measure{inner: map[reflect.Type]map[int]reflect.Type{}}
	switch {
	case bytes.HasPrefix(text, protobuf):
		var envelope k8sruntime.Unknown
		if envelope.Unmarshal(text[len(protobuf):]) == nil && !m.fields(reflect.TypeOf(into).Elem(), envelope.Raw, 1) {
			return apierrors.NewBadRequest("the body cannot be read: it is no message of protobuf")
		}
	default:
		m.json(text)
	}
	return m.bounded()
}

func tooMuch(format string, args ...any) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(format, args...))
}

// measure counts values before they are made.
type measure struct {
	values, levels int
	elements       int // of the longest list, only in JSON
	inner          map[reflect.Type]map[int]reflect.Type
}

func (m *measure) bounded() error {
	switch {
	case m.values > mostValues:
		return tooMuch("limit is %d values", mostValues)
	case m.levels > mostLevels:
		return tooMuch("limit is %d levels", mostLevels)
	}
	return nil
}

// json counts what begins an object, a list, an item or a field.
func (m *measure) json(text []byte) {
	var commas []int // in each of the objects and lists around
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			commas = append(commas, 0)
			m.levels, m.values = max(m.levels, len(commas)), m.values+1
		case (c == '}' || c == ']') && len(commas) > 0:
			if c == ']' {
				m.elements = max(m.elements, commas[len(commas)-1]+1)
			}
			commas = commas[:len(commas)-1]
		case c == ',':
			m.values++
			if len(commas) > 0 {
				commas[len(commas)-1]++
			}
		}
	}
}

// fields counts the fields of a message in protobuf that becomes a struct. It returns false for a text
// that cannot be counted to its end, which a decoder could read in another way.
func (m *measure) fields(t reflect.Type, text []byte, level int) (whole bool) {
	m.levels = max(m.levels, level)
	if m.inner[t] == nil {
		m.inner[t] = messages(t)
	}
	for len(text) > 0 && m.bounded() == nil {
		m.values++
		number, value, rest, ok := podfields.NextField(text)
		if !ok {
			return false
		}
		if of, ok := m.inner[t][number]; ok && !m.fields(of, value, level+1) {
			return false
		}
		text = rest
	}
	return true
}

// messages are the fields of a struct that are messages themselves, by number.
func messages(t reflect.Type) map[int]reflect.Type {
	found := map[int]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		parts := strings.Split(field.Tag.Get("protobuf"), ",")
		of := field.Type
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if number, err := strconv.Atoi(parts[min(1, len(parts)-1)]); err == nil && of.Kind() == reflect.Struct {
			found[number] = of
		}
	}
	return found
}

// fits is an error of code 413 for a pod that is too large to be kept, and of code 403 if
// there would be too much of all created ones with it. One that is there and does not grow can
// always be changed. Creations that come together may be a few too many.
func (q *writing) fits(pod *v1.Pod) error {
	if text, err := json.Marshal(pod); err != nil || len(text) > mostPod {
		return tooMuch("limit is %d bytes for a pod", mostPod)
	}
	others, bytes, there := 0, pod.Size(), false
	for _, other := range q.store.written() {
		switch {
		case other.UID != pod.UID:
			others, bytes = others+1, bytes+other.Size()
		case other.Size() >= pod.Size():
			return nil
		default:
			there = true
		}
	}
	if others >= mostPods && !there || bytes > mostKept {
		return apierrors.NewForbidden(q.resource.group(), pod.Name, fmt.Errorf("there are %d pods already, of at most %d, with %d MiB at most", others, mostPods, mostKept>>20))
	}
	return nil
}
