package environ

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/runtime"
)

// MaxBytes bounds an environment, names and values together, and a command with
// its arguments.
const MaxBytes = 1 << 20

// What is wrong with an environment, besides runtime.ErrNotFound for an object
// or a key that is not there.
var (
	// ErrTooLarge: it has more than MaxBytes.
	ErrTooLarge = fmt.Errorf("larger than %d bytes", MaxBytes)
	// ErrInvalid: the spec asks for what cannot be.
	ErrInvalid = errors.New("invalid")
)

// Input is what an environment is made from. It is only read.
type Input struct {
	Pod       *v1.Pod
	Container *v1.Container
	// Objects are those of Needs that exist.
	Objects Objects
	// Files are the files that FileNeeds names, as they were read.
	Files map[FileNeed]File
	// Services are those of the pod's namespace and of the namespace default, and perhaps
	// others.
	Services []*v1.Service
	// PodIPs and HostIPs are the addresses, primary first.
	PodIPs, HostIPs []string
	// Allocatable is what the node has for pods: the limit of whatever has none.
	Allocatable v1.ResourceList
}

// Environment is what a container is told at its start.
type Environment struct {
	vars          []runtime.EnvVar
	index         map[string]int // of vars, by name
	command, args []string
}

// Vars are the variables, in order, each name once.
func (e *Environment) Vars() []runtime.EnvVar { return e.vars }

// Command is the command, expanded; nil is that of the image.
func (e *Environment) Command() []string { return e.command }

// Args are the arguments, expanded; nil are those of the image.
func (e *Environment) Args() []string { return e.args }

// Lookup finds a variable.
func (e *Environment) Lookup(name string) (value string, ok bool) {
	i, ok := e.index[name]
	if !ok {
		return "", false
	}
	return e.vars[i].Value, true
}

// Expand replaces every reference in a text, as that of a subPathExpr. Its error
// names the variables that do not exist.
func (e *Environment) Expand(text string) (string, error) {
	var missing []string
	left := MaxBytes
	out, err := expand(text, e.Lookup, &left, func(name string) { missing = append(missing, name) })
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("%w: there is no variable %s", ErrInvalid, strings.Join(missing, ", "))
	}
	if err != nil {
		return "", err
	}
	return out, nil
}

// Resolve makes the environment of a container. The warnings name what was left
// out, for an event of reason InvalidEnvironmentVariableNames. The error names
// the container, the variable, and what it wants.
func Resolve(in Input) (env Environment, warnings []string, err error) {
	r := resolution{Input: in, left: MaxBytes}
	r.env.index = make(map[string]int, len(in.Container.Env))
	if err := r.all(); err != nil {
		return Environment{}, r.warnings, fmt.Errorf("container %s: %w", in.Container.Name, err)
	}
	return r.env, r.warnings, nil
}

// resolution is one on its way.
type resolution struct {
	Input
	env      Environment
	warnings []string
	left     int // bytes
}

func (r *resolution) all() error {
	if err := r.services(); err != nil {
		return err
	}
	for i := range r.Container.EnvFrom {
		if err := r.from(&r.Container.EnvFrom[i]); err != nil {
			return fmt.Errorf("envFrom[%d]: %w", i, err)
		}
	}
	for i := range r.Container.Env {
		v := &r.Container.Env[i]
		if err := r.variable(v); err != nil {
			return fmt.Errorf("variable %s: %w", shown(v.Name), err)
		}
	}
	var err error
	left := MaxBytes
	if r.env.command, err = words(r.Container.Command, r.env.Lookup, &left); err != nil {
		return fmt.Errorf("command%w", err)
	}
	if r.env.args, err = words(r.Container.Args, r.env.Lookup, &left); err != nil {
		return fmt.Errorf("args%w", err)
	}
	return nil
}

// variable resolves one entry of env.
func (r *resolution) variable(v *v1.EnvVar) error {
	if bad := validation.IsRelaxedEnvVarName(v.Name); len(bad) > 0 {
		return fmt.Errorf("%w name: %s", ErrInvalid, strings.Join(bad, "; "))
	}
	value, set := v.Value, true
	var err error
	switch {
	case v.Value != "":
		left := r.left
		value, err = expand(v.Value, r.env.Lookup, &left, nil)
	case v.ValueFrom != nil:
		value, set, err = r.valueFrom(v.ValueFrom)
	}
	if err != nil || !set {
		return err
	}
	return r.set(v.Name, value)
}

// set gives a variable its value, in the place of one that has its name.
func (r *resolution) set(name, value string) error {
	if err := plain(value); err != nil {
		return err
	}
	// What is replaced counts too: it has been made.
	if r.left -= len(name) + len(value) + 2; r.left < 0 {
		return fmt.Errorf("the environment is %w", ErrTooLarge)
	}
	if i, again := r.env.index[name]; again {
		r.env.vars[i].Value = value
		return nil
	}
	r.env.index[name] = len(r.env.vars)
	r.env.vars = append(r.env.vars, runtime.EnvVar{Name: name, Value: value})
	return nil
}

// plain wants what a process can be given.
func plain(value string) error {
	if strings.IndexByte(value, 0) >= 0 {
		return fmt.Errorf("%w: it has a NUL byte", ErrInvalid)
	}
	return nil
}

// from takes over all keys of an object.
func (r *resolution) from(source *v1.EnvFromSource) error {
	need, ok := needOfEnvFrom(source)
	if !ok {
		return fmt.Errorf("%w: neither configMapRef nor secretRef is set", ErrInvalid)
	}
	o, err := r.Objects.find(r.Pod.Namespace, need)
	if err != nil || o == nil {
		return err
	}
	var skipped []string
	for _, key := range o.keys() {
		name := source.Prefix + key
		if len(validation.IsRelaxedEnvVarName(name)) > 0 {
			skipped = append(skipped, name)
			continue
		}
		value, _ := o.text(key)
		if err := r.set(name, value); err != nil {
			return fmt.Errorf("%s, key %s: %w", need.in(r.Pod.Namespace), shown(key), err)
		}
	}
	if len(skipped) > 0 {
		slices.Sort(skipped)
		r.warnings = append(r.warnings, fmt.Sprintf("Keys [%s] of the %s were skipped: they are no names of environment variables",
			shown(strings.Join(skipped, ", ")), need.in(r.Pod.Namespace)))
	}
	return nil
}

// valueFrom looks a value up. Not set: there is none, and that is all right.
func (r *resolution) valueFrom(from *v1.EnvVarSource) (value string, set bool, err error) {
	switch {
	case from.FieldRef != nil:
		value, err = r.field(from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = Resource(r.Pod, r.Container.Name, from.ResourceFieldRef, r.Allocatable)
		return value, true, err
	case from.ConfigMapKeyRef != nil || from.SecretKeyRef != nil:
		return r.key(from)
	case from.FileKeyRef != nil:
		return r.fileKey(from.FileKeyRef)
	}
	return "", false, fmt.Errorf("%w: valueFrom has no source", ErrInvalid)
}

// key is the value of one key of an object.
func (r *resolution) key(from *v1.EnvVarSource) (value string, set bool, err error) {
	need, key := needOfKey(from)
	o, err := r.Objects.find(r.Pod.Namespace, need)
	if err != nil || o == nil {
		return "", false, err
	}
	value, ok := o.text(key)
	if !ok && !need.Optional {
		return "", false, fmt.Errorf("the %s has no key %s: %w", need.in(r.Pod.Namespace), shown(key), runtime.ErrNotFound)
	}
	return value, ok, nil
}

// shown is a name from outside in a message.
func shown(name string) string {
	const most = 100
	if len(name) > most {
		name = name[:most] + "…"
	}
	return strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, name), "?")
}

// Problem is a field of a container that no environment can be made of.
type Problem struct{ Field, Why string } // a field below the container's

// Problems names the references of a container that can never be resolved,
// whatever objects and addresses there are.
func Problems(pod *v1.Pod, c *v1.Container) []Problem {
	var found []Problem
	add := func(field string, err error) {
		if err != nil {
			found = append(found, Problem{field, err.Error()})
		}
	}
	for i := range c.EnvFrom {
		if _, ok := needOfEnvFrom(&c.EnvFrom[i]); !ok {
			add(fmt.Sprintf("envFrom[%d]", i), fmt.Errorf("%w: neither configMapRef nor secretRef is set", ErrInvalid))
		}
	}
	r := resolution{Input: Input{Pod: pod, Container: c}}
	for i := range c.Env {
		from := c.Env[i].ValueFrom
		if c.Env[i].Value != "" || from == nil || from.ConfigMapKeyRef != nil || from.SecretKeyRef != nil || from.FileKeyRef != nil {
			continue
		}
		_, _, err := r.valueFrom(from)
		add(fmt.Sprintf("env[%d].valueFrom", i), err)
	}
	return found
}
