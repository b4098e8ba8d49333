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

// The bounds of a request. Bytes alone are no bound, because a value of two bytes can become a struct of a thousand.
const (
	// maxBodyBytes bounds the body of a request. maxYAMLBytes bounds a YAML body, whose values can only be counted
	// after it is parsed.
	maxBodyBytes = 1 << 20
	maxYAMLBytes = 256 << 10
	// maxValues bounds the number of values in a body: objects, lists, list items and fields.
	maxValues = 20_000
	// maxLevels bounds the depth of a body. A pod needs fewer than 20 levels.
	maxLevels = 100
	// maxPodBytes bounds the JSON of one stored pod. A checkpoint.Pods stores no larger pod. maxTotalPodBytes bounds
	// the pods together.
	maxPodBytes      = 250_000
	maxTotalPodBytes = 32 << 20
	// maxPods bounds the pods that clients have created and that are not gone.
	maxPods = 1000
)

// protobufPrefix is the beginning of every object that Kubernetes encodes in protobuf.
var protobufPrefix = []byte("k8s\x00")

// convertYAML converts a YAML body to JSON and returns any other body unchanged. The error has code 413 if the
// body or its expanded aliases exceed a bound, and code 400 if the body cannot be parsed. duplicates lists the
// fields that a YAML object has twice.
func convertYAML(text []byte) (body []byte, duplicates document.Faults, err error) {
	trimmed := bytes.TrimSpace(text)
	switch {
	case bytes.HasPrefix(text, protobufPrefix), len(trimmed) == 0, trimmed[0] == '{', trimmed[0] == '[':
		return text, nil, nil
	case len(text) > maxYAMLBytes:
		return nil, nil, bodyTooLargeError("limit is %d bytes of YAML", maxYAMLBytes)
	}
	body, duplicates, faults := document.JSON(text, document.Bounds{Bytes: maxBodyBytes, Memory: maxBodyBytes})
	switch {
	case len(faults) == 0:
		return body, duplicates, nil
	case slices.ContainsFunc(faults, func(f document.Fault) bool { return f.Kind == document.BeyondBound }):
		return nil, nil, bodyTooLargeError("%s", faults.InOrder())
	}
	return nil, nil, apierrors.NewBadRequest("the body cannot be read: " + faults.InOrder().Error())
}

// checkBodyBounds returns an error with code 413 if a JSON or protobuf body has too many values or too many
// nested levels to decode. It returns an error with code 400 if the message in a protobuf envelope cannot be
// parsed as the type of into. It leaves a broken envelope to the decoder.
func checkBodyBounds(text []byte, into k8sruntime.Object) error {
	m := &valueCounter{messageFields: map[reflect.Type]map[int]reflect.Type{}}
	switch {
	case bytes.HasPrefix(text, protobufPrefix):
		var envelope k8sruntime.Unknown
		if envelope.Unmarshal(text[len(protobufPrefix):]) == nil && !m.countProtobuf(reflect.TypeOf(into).Elem(), envelope.Raw, 1) {
			return apierrors.NewBadRequest("the body cannot be read: it is no message of protobuf")
		}
	default:
		m.countJSON(text)
	}
	return m.checkBounds()
}

// bodyTooLargeError returns an error with code 413 and the formatted message.
func bodyTooLargeError(format string, args ...any) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(format, args...))
}

// valueCounter counts the values of a body without decoding it.
type valueCounter struct {
	values, levels int
	longestList    int // length of the longest list; only JSON
	messageFields  map[reflect.Type]map[int]reflect.Type
}

// checkBounds returns an error with code 413 if the number of values or of nested levels exceeds a bound.
func (m *valueCounter) checkBounds() error {
	switch {
	case m.values > maxValues:
		return bodyTooLargeError("limit is %d values", maxValues)
	case m.levels > maxLevels:
		return bodyTooLargeError("limit is %d levels", maxLevels)
	}
	return nil
}

// countJSON adds the number of objects, lists and commas of a JSON text to the number of values, because a
// comma separates two items or fields. It also updates the deepest nesting and the length of the longest list.
func (m *valueCounter) countJSON(text []byte) {
	var commas []int // per enclosing object or list
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
				m.longestList = max(m.longestList, commas[len(commas)-1]+1)
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

// countProtobuf adds the fields of a protobuf message for struct type t, and of its nested messages, to the
// number of values, and updates the deepest nesting. It stops when a bound is exceeded, and returns true then.
// It returns false if the message cannot be parsed to its end, because a decoder could then decode it
// differently.
func (m *valueCounter) countProtobuf(t reflect.Type, text []byte, level int) (whole bool) {
	m.levels = max(m.levels, level)
	if m.messageFields[t] == nil {
		m.messageFields[t] = messageFieldsOf(t)
	}
	for len(text) > 0 && m.checkBounds() == nil {
		m.values++
		number, value, rest, ok := podfields.NextField(text)
		if !ok {
			return false
		}
		if messageType, ok := m.messageFields[t][number]; ok && !m.countProtobuf(messageType, value, level+1) {
			return false
		}
		text = rest
	}
	return true
}

// messageFieldsOf returns the protobuf field numbers of a struct type whose values are messages, each with the
// struct type of the message. Pointers to structs and lists of structs are included.
func messageFieldsOf(t reflect.Type) map[int]reflect.Type {
	found := map[int]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		parts := strings.Split(field.Tag.Get("protobuf"), ",")
		fieldType := field.Type
		for fieldType.Kind() == reflect.Pointer || fieldType.Kind() == reflect.Slice {
			fieldType = fieldType.Elem()
		}
		if number, err := strconv.Atoi(parts[min(1, len(parts)-1)]); err == nil && fieldType.Kind() == reflect.Struct {
			found[number] = fieldType
		}
	}
	return found
}

// checkCapacity returns an error with code 413 if a pod is too large to store, and with code 403 if the pod
// would exceed the number or the total size of created pods. The second check does not apply to a change that
// does not make a stored pod larger. Concurrent creations can exceed the limits by a few pods.
func (q *writeRequest) checkCapacity(pod *v1.Pod) error {
	if text, err := json.Marshal(pod); err != nil || len(text) > maxPodBytes {
		return bodyTooLargeError("limit is %d bytes for a pod", maxPodBytes)
	}
	others, bytes, there := 0, pod.Size(), false
	for _, other := range q.store.writtenPods() {
		switch {
		case other.UID != pod.UID:
			others, bytes = others+1, bytes+other.Size()
		case other.Size() >= pod.Size():
			return nil
		default:
			there = true
		}
	}
	if others >= maxPods && !there || bytes > maxTotalPodBytes {
		return apierrors.NewForbidden(q.resource.groupResource(), pod.Name, fmt.Errorf("there are %d pods already, of at most %d, with %d MiB at most", others, maxPods, maxTotalPodBytes>>20))
	}
	return nil
}
