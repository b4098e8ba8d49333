package environ

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// Kind is the kind of an object that pods refer to.
type Kind string

// The kinds.
const (
	// ConfigMap is a v1.ConfigMap.
	ConfigMap Kind = "ConfigMap"
	// Secret is a v1.Secret.
	Secret Kind = "Secret"
)

// ObjectRef is a reference to an object in the namespace of the pod.
type ObjectRef struct {
	Kind     Kind
	Name     string
	Optional bool // the object may be missing
}

// describeIn returns "Kind namespace/name" of the object for messages.
func (n ObjectRef) describeIn(namespace string) string {
	return string(n.Kind) + " " + printableName(namespace) + "/" + printableName(n.Name)
}

// Objects has the objects that exist, by name.
type Objects struct {
	ConfigMaps map[string]*v1.ConfigMap
	Secrets    map[string]*v1.Secret
	Tokens     map[TokenRef]string // the tokens of the pod's service account
}

// TokenRef is a reference to a token of the pod's service account.
type TokenRef struct {
	Audience          string // empty: the API server
	ExpirationSeconds int64
}

// ObjectRefs returns the objects that the environment of a container refers to, each once, in order. A
// result is optional if all references to the object are optional.
func ObjectRefs(c *v1.Container) []ObjectRef {
	var all []ObjectRef
	for i := range c.EnvFrom {
		if need, ok := envFromRef(&c.EnvFrom[i]); ok {
			all = append(all, need)
		}
	}
	for i := range c.Env {
		from := c.Env[i].ValueFrom
		if c.Env[i].Value == "" && from != nil && (from.ConfigMapKeyRef != nil || from.SecretKeyRef != nil) {
			need, _ := objectKeyRef(from)
			all = append(all, need)
		}
	}
	return UniqueObjectRefs(all)
}

// UniqueObjectRefs returns each object once, in the order of the first references. A result is optional
// if all references to the object are optional.
func UniqueObjectRefs(needs []ObjectRef) []ObjectRef {
	index := make(map[ObjectRef]int, len(needs))
	var out []ObjectRef
	for _, n := range needs {
		key := ObjectRef{Kind: n.Kind, Name: n.Name}
		i, ok := index[key]
		if !ok {
			index[key] = len(out)
			out = append(out, n)
			continue
		}
		out[i].Optional = out[i].Optional && n.Optional
	}
	return out
}

// envFromRef returns the ConfigMap or Secret of an envFrom entry. It returns false if the entry has neither.
func envFromRef(s *v1.EnvFromSource) (ObjectRef, bool) {
	switch {
	case s.ConfigMapRef != nil:
		return ObjectRef{ConfigMap, s.ConfigMapRef.Name, isTrue(s.ConfigMapRef.Optional)}, true
	case s.SecretRef != nil:
		return ObjectRef{Secret, s.SecretRef.Name, isTrue(s.SecretRef.Optional)}, true
	}
	return ObjectRef{}, false
}

// objectKeyRef returns the object and the key of a configMapKeyRef or, if that is nil, of a secretKeyRef. One
// of them must be set.
func objectKeyRef(from *v1.EnvVarSource) (need ObjectRef, key string) {
	if ref := from.ConfigMapKeyRef; ref != nil {
		return ObjectRef{ConfigMap, ref.Name, isTrue(ref.Optional)}, ref.Key
	}
	ref := from.SecretKeyRef
	return ObjectRef{Secret, ref.Name, isTrue(ref.Optional)}, ref.Key
}

// isTrue reports whether b is not nil and true.
func isTrue(b *bool) bool { return b != nil && *b }

// object is the data of a ConfigMap or a Secret.
type object struct {
	data   map[string]string
	secret map[string][]byte
}

// findObject returns the data of the ConfigMap or Secret that ref names. If it is missing, the result is nil
// without an error for an optional reference, and ErrNotFound for any other.
func (o *Objects) findObject(namespace string, ref ObjectRef) (*object, error) {
	if ref.Kind == ConfigMap {
		if m := o.ConfigMaps[ref.Name]; m != nil {
			return &object{data: m.Data}, nil
		}
	} else if s := o.Secrets[ref.Name]; s != nil {
		return &object{data: s.StringData, secret: s.Data}, nil
	}
	if ref.Optional {
		return nil, nil
	}
	return nil, fmt.Errorf("there is no %s: %w", ref.describeIn(namespace), runtime.ErrNotFound)
}

// sortedKeys returns the keys of the object, sorted and without duplicates. The keys in the binaryData of a
// ConfigMap are left out, because they give no variables.
func (o *object) sortedKeys() []string {
	keys := slices.Collect(maps.Keys(o.secret))
	for key := range o.data {
		if _, twice := o.secret[key]; !twice {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// valueOfKey returns the value of a key, and whether the object has the key. The stringData of a Secret takes
// precedence over its data.
func (o *object) valueOfKey(key string) (string, bool) {
	if value, ok := o.data[key]; ok {
		return value, true
	}
	value, ok := o.secret[key]
	return string(value), ok
}
