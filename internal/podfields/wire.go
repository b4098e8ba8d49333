package podfields

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// unknownFieldsInProtobufPod lists the fields of a pod's spec in a protobuf message that the Go types of this
// build lack, in the order of the message, at most 100. A field that [Newer] knows has its name in the path.
// Another field has its number, as in spec.#99.
func unknownFieldsInProtobufPod(pod []byte) ([]Found, error) {
	w := protobufScanner{types: messageFields()}
	w.collectInMessage(podType, pod, nil)
	return w.found, w.err
}

// unknownFieldsInProtobufList returns the result of unknownFieldsInProtobufPod for each pod of a pod list. The
// keys are indexes in the list.
func unknownFieldsInProtobufList(list []byte) (map[int][]Found, error) {
	all := map[int][]Found{}
	for item := 0; len(list) > 0; {
		number, value, rest, ok := NextField(list)
		if !ok {
			return all, errNotProtobuf
		}
		list = rest
		if number != itemsNumber {
			continue
		}
		found, err := unknownFieldsInProtobufPod(value)
		if err != nil {
			return all, err
		}
		all[item] = found
		item++
	}
	return all, nil
}

// itemsNumber is the protobuf number of the items in every API list.
const itemsNumber = 2

var podType = reflect.TypeFor[v1.Pod]()

// messageFields returns the fields of the messages that a pod consists of, by message type and protobuf number.
var messageFields = sync.OnceValue(func() map[reflect.Type]map[int]messageField {
	all := map[reflect.Type]map[int]messageField{}
	addMessageFields(podType, all)
	return all
})

// messageField is a field of a message. message is nil if the field holds no message with known fields.
type messageField struct {
	name    string // empty: its fields belong to the enclosing message
	list    bool
	message reflect.Type
}

// addMessageFields adds a map from field numbers to fields to all, for the protobuf message type t and for each
// message type in it.
func addMessageFields(t reflect.Type, all map[reflect.Type]map[int]messageField) {
	if all[t] != nil {
		return
	}
	all[t] = map[int]messageField{}
	for i := range t.NumField() {
		f := t.Field(i)
		parts := strings.Split(f.Tag.Get("protobuf"), ",")
		number, err := strconv.Atoi(parts[min(1, len(parts)-1)])
		if err != nil {
			continue
		}
		of, list := stripPointersAndSlices(f.Type)
		field := messageField{name: JSONName(f), list: list}
		if of.Kind() == reflect.Struct && !hasUnmarshalJSON(of) {
			field.message = of
			addMessageFields(of, all)
		}
		all[t][number] = field
	}
}

// protobufScanner collects the unknown fields of a message.
type protobufScanner struct {
	types map[reflect.Type]map[int]messageField
	found []Found
	err   error
}

// pathStep is one field of a path. The text of the path is built only when it is needed.
type pathStep struct {
	parent *pathStep
	name   string
	index  int // in a list, or -1
}

// pathAndPattern returns the path up to this step, and the same path with [] in place of each index. It returns
// "" and "" for a nil step.
func (s *pathStep) pathAndPattern() (path, pattern string) {
	if s == nil {
		return "", ""
	}
	path, pattern = s.parent.pathAndPattern()
	path, pattern = joinPath(path, s.name), joinPath(pattern, s.name)
	if s.index >= 0 {
		path, pattern = fmt.Sprintf("%s[%d]", path, s.index), pattern+"[]"
	}
	return path, pattern
}

// collectInMessage collects the fields of a message, and of the messages in it, that the Go types lack. In a
// pod it reads only the spec. It sets w.err if the text is not protobuf. It stops after maxFound fields.
func (w *protobufScanner) collectInMessage(t reflect.Type, text []byte, at *pathStep) {
	var items [64]int
	for len(text) > 0 && len(w.found) < maxFound {
		number, value, rest, ok := NextField(text)
		if !ok {
			w.err = errNotProtobuf
			return
		}
		text = rest
		field, known := w.types[t][number]
		item := -1
		if field.list {
			item = items[number%len(items)]
			items[number%len(items)]++
		}
		switch {
		case !known && at != nil: // An unknown field of the pod itself is outside the spec.
			w.addUnknownField(number, at)
		case field.message == nil || t == podType && field.name != "spec":
		case field.name == "":
			w.collectInMessage(field.message, value, at)
		default:
			w.collectInMessage(field.message, value, &pathStep{at, field.name, item})
		}
	}
}

// addUnknownField collects a field that the Go types lack. at is the path of its message. If a newer API
// version is known to have the field, the path of the field ends with its name. If not, it ends with its
// number. A repeated field is collected once.
func (w *protobufScanner) addUnknownField(number int, at *pathStep) {
	path, pattern := at.pathAndPattern()
	names := make([]string, 0, 1)
	for name, field := range newer {
		if field.number == number && strings.HasPrefix(name, pattern+".") && !strings.Contains(name[len(pattern)+1:], ".") {
			names = append(names, name[len(pattern)+1:])
		}
	}
	slices.Sort(names)
	found := Found{Path: fmt.Sprintf("%s.#%d", path, number)}
	if len(names) > 0 {
		found = Found{joinPath(path, names[0]), newer[joinPath(pattern, names[0])].since}
	}
	if !slices.Contains(w.found, found) { // Each item of a list is a field of its own.
		w.found = append(w.found, found)
	}
}

// NextField parses the first field of a protobuf message. rest is the message after the field. value is the content of
// the field if its type has a length. ok is false if the text does not begin with a field. A group is one field without
// a value: the API uses no groups, and its decoders skip them.
func NextField(text []byte) (number int, value, rest []byte, ok bool) {
	for depth := 0; ; {
		tag, n := binary.Uvarint(text)
		if n <= 0 || tag>>3 > 1<<29 {
			return 0, nil, nil, false
		}
		text = text[n:]
		length := uint64(0)
		switch tag & 7 {
		case 0:
			_, n = binary.Uvarint(text)
		case 1:
			n = 8
		case 2:
			length, n = binary.Uvarint(text)
		case 3:
			depth++
			continue
		case 4:
			depth, n = depth-1, 0
		case 5:
			n = 4
		default:
			return 0, nil, nil, false
		}
		if depth < 0 || n < 0 || n == 0 && tag&7 != 4 || n > len(text) || length > uint64(len(text)-n) {
			return 0, nil, nil, false
		}
		end := n + int(length)
		value, text = text[n:end], text[end:]
		if depth == 0 {
			return int(tag >> 3), value, text, true
		}
	}
}
