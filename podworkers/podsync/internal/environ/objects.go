package environ

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// Kind is a kind of object that pods refer to.
type Kind string

// The kinds.
const (
	// ConfigMap is a v1.ConfigMap.
	ConfigMap Kind = "ConfigMap"
	// Secret is a v1.Secret.
	Secret Kind = "Secret"
)

// Need is an object of a pod's namespace that something refers to.
type Need struct {
	Kind     Kind
	Name     string
	Optional bool // it need not exist
}

// in names what is needed, for people.
func (n Need) in(namespace string) string {
	return string(n.Kind) + " " + shown(namespace) + "/" + shown(n.Name)
}

// Objects are those that exist, by name.
type Objects struct {
	ConfigMaps map[string]*v1.ConfigMap
	Secrets    map[string]*v1.Secret
	Tokens     map[TokenNeed]string // of the pod's service account
}

// TokenNeed is a token of its service account that a pod refers to.
type TokenNeed struct {
	Audience          string // empty: the API server's
	ExpirationSeconds int64
}

// Needs are the objects to which the environment of a container refers, each
// once, in order. One is optional if every reference to it is.
func Needs(c *v1.Container) []Need {
	var all []Need
	for i := range c.EnvFrom {
		if need, ok := needOfEnvFrom(&c.EnvFrom[i]); ok {
			all = append(all, need)
		}
	}
	for i := range c.Env {
		from := c.Env[i].ValueFrom
		if c.Env[i].Value == "" && from != nil && (from.ConfigMapKeyRef != nil || from.SecretKeyRef != nil) {
			need, _ := needOfKey(from)
			all = append(all, need)
		}
	}
	return Unique(all)
}

// Unique leaves each object once, in the order of its first mention. One is
// optional if all its mentions are.
func Unique(needs []Need) []Need {
	index := make(map[Need]int, len(needs))
	var out []Need
	for _, n := range needs {
		key := Need{Kind: n.Kind, Name: n.Name}
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

func needOfEnvFrom(s *v1.EnvFromSource) (Need, bool) {
	switch {
	case s.ConfigMapRef != nil:
		return Need{ConfigMap, s.ConfigMapRef.Name, isSet(s.ConfigMapRef.Optional)}, true
	case s.SecretRef != nil:
		return Need{Secret, s.SecretRef.Name, isSet(s.SecretRef.Optional)}, true
	}
	return Need{}, false
}

func needOfKey(from *v1.EnvVarSource) (need Need, key string) {
	if ref := from.ConfigMapKeyRef; ref != nil {
		return Need{ConfigMap, ref.Name, isSet(ref.Optional)}, ref.Key
	}
	ref := from.SecretKeyRef
	return Need{Secret, ref.Name, isSet(ref.Optional)}, ref.Key
}

func isSet(b *bool) bool { return b != nil && *b }

// object is a ConfigMap or a Secret.
type object struct {
	data   map[string]string
	secret map[string][]byte
}

// find looks for an object. Nil without an error: it is absent and optional.
func (o *Objects) find(namespace string, n Need) (*object, error) {
	if n.Kind == ConfigMap {
		if m := o.ConfigMaps[n.Name]; m != nil {
			return &object{data: m.Data}, nil
		}
	} else if s := o.Secrets[n.Name]; s != nil {
		return &object{data: s.StringData, secret: s.Data}, nil
	}
	if n.Optional {
		return nil, nil
	}
	return nil, fmt.Errorf("there is no %s: %w", n.in(namespace), runtime.ErrNotFound)
}

// keys are all keys, in order. The binary data of a ConfigMap is for files.
func (o *object) keys() []string {
	keys := slices.Collect(maps.Keys(o.secret))
	for key := range o.data {
		if _, twice := o.secret[key]; !twice {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// text is the value of a key. What a secret has as text goes before what it has
// as bytes, as an API server would merge them.
func (o *object) text(key string) (string, bool) {
	if value, ok := o.data[key]; ok {
		return value, true
	}
	value, ok := o.secret[key]
	return string(value), ok
}
