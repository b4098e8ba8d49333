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

// findWire lists the fields of a pod's spec that the types in use lack, in the order of the text: at
// most 100. The pod is a message of protobuf. A field that [Newer] knows has its name, and any other
// one its number, as in spec.#99.
func findWire(pod []byte) ([]Found, error) {
	w := wire{types: messages()}
	w.scanMessage(podType, pod, nil)
	return w.found, w.err
}

// findWireItems is findWire for each pod of a list, by its place in the list.
func findWireItems(list []byte) (map[int][]Found, error) {
	all := map[int][]Found{}
	for item := 0; len(list) > 0; {
		number, value, rest, ok := NextField(list)
		if !ok {
			return all, errMessage
		}
		list = rest
		if number != itemsNumber {
			continue
		}
		found, err := findWire(value)
		if err != nil {
			return all, err
		}
		all[item] = found
		item++
	}
	return all, nil
}

// itemsNumber is the number of the items of a list of any kind.
const itemsNumber = 2

var podType = reflect.TypeFor[v1.Pod]()

// messages returns the fields of the messages that a pod consists of, by their numbers.
var messages = sync.OnceValue(func() map[reflect.Type]map[int]inner {
	all := map[reflect.Type]map[int]inner{}
	addMessage(podType, all)
	return all
})

// inner is a field of a message. of is nil if it is no message with fields of its own.
type inner struct {
	name string // empty: its fields belong to the message around it
	list bool
	of   reflect.Type
}

// addMessage adds a message and the messages in it.
func addMessage(t reflect.Type, all map[reflect.Type]map[int]inner) {
	if all[t] != nil {
		return
	}
	all[t] = map[int]inner{}
	for i := range t.NumField() {
		f := t.Field(i)
		parts := strings.Split(f.Tag.Get("protobuf"), ",")
		number, err := strconv.Atoi(parts[min(1, len(parts)-1)])
		if err != nil {
			continue
		}
		of, list := element(f.Type)
		field := inner{name: JSONName(f), list: list}
		if of.Kind() == reflect.Struct && !readsItself(of) {
			field.of = of
			addMessage(of, all)
		}
		all[t][number] = field
	}
}

type wire struct {
	types map[reflect.Type]map[int]inner
	found []Found
	err   error
}

// step is a field on the way to a message. Its paths are made only when they are needed.
type step struct {
	above *step
	name  string
	item  int // of a list, or -1
}

// paths returns the path, and the path without numbers.
func (s *step) paths() (path, generic string) {
	if s == nil {
		return "", ""
	}
	path, generic = s.above.paths()
	path, generic = join(path, s.name), join(generic, s.name)
	if s.item >= 0 {
		path, generic = fmt.Sprintf("%s[%d]", path, s.item), generic+"[]"
	}
	return path, generic
}

// scanMessage finds the unknown fields of one message, and of the messages in it. A list counts its
// items.
func (w *wire) scanMessage(t reflect.Type, text []byte, at *step) {
	var items [64]int
	for len(text) > 0 && len(w.found) < maxFound {
		number, value, rest, ok := NextField(text)
		if !ok {
			w.err = errMessage
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
		case !known && at != nil: // Of the pod itself it is no part of the spec.
			w.addUnknown(number, at)
		case field.of == nil || t == podType && field.name != "spec":
		case field.name == "":
			w.scanMessage(field.of, value, at)
		default:
			w.scanMessage(field.of, value, &step{at, field.name, item})
		}
	}
}

// addUnknown adds a field of a message that the types lack.
func (w *wire) addUnknown(number int, at *step) {
	path, generic := at.paths()
	names := make([]string, 0, 1)
	for name, field := range newer {
		if field.number == number && strings.HasPrefix(name, generic+".") && !strings.Contains(name[len(generic)+1:], ".") {
			names = append(names, name[len(generic)+1:])
		}
	}
	slices.Sort(names)
	found := Found{Path: fmt.Sprintf("%s.#%d", path, number)}
	if len(names) > 0 {
		found = Found{join(path, names[0]), newer[join(generic, names[0])].since}
	}
	if !slices.Contains(w.found, found) { // A list is a field for each item.
		w.found = append(w.found, found)
	}
}

// NextField returns the number of the first field of a message of protobuf, and the text after the
// field. value is what the field holds if it has a length. ok is false if the text does not begin
// with a field. A group, which the API does not use, is one field without a value, because the
// decoders of the API skip it.
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
