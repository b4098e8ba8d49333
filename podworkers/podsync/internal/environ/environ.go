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

// MaxBytes bounds an environment, names and values together. It also bounds a command with its
// arguments.
const MaxBytes = 1 << 20

// The errors of an environment. The error for a missing object or key is runtime.ErrNotFound.
var (
	// ErrTooLarge: the environment or the command has more than MaxBytes.
	ErrTooLarge = fmt.Errorf("larger than %d bytes", MaxBytes)
	// ErrInvalid: the spec has an invalid name, value or reference.
	ErrInvalid = errors.New("invalid")
)

// Input has everything that Resolve needs. Resolve does not change it.
type Input struct {
	Pod       *v1.Pod
	Container *v1.Container
	// Objects are the objects of ObjectRefs that exist.
	Objects Objects
	// Files are the files of FileRefs, with the errors of their reads.
	Files map[FileRef]File
	// Services are the services of the pod's namespace and of the namespace default. It may have
	// others.
	Services []*v1.Service
	// PodIPs and HostIPs are the addresses, the primary address first.
	PodIPs, HostIPs []string
	// Allocatable has the resources that the node has for pods. They replace limits that are not set.
	Allocatable v1.ResourceList
}

// Environment has the variables, the command and the arguments of a container.
type Environment struct {
	vars          []runtime.EnvVar
	index         map[string]int // the index in vars, by name
	command, args []string
}

// Vars returns the variables in order, each name once.
func (e *Environment) Vars() []runtime.EnvVar { return e.vars }

// Command returns the expanded command. Nil means the command of the image.
func (e *Environment) Command() []string { return e.command }

// Args returns the expanded arguments. Nil means the arguments of the image.
func (e *Environment) Args() []string { return e.args }

// Lookup returns the value of a variable.
func (e *Environment) Lookup(name string) (value string, ok bool) {
	i, ok := e.index[name]
	if !ok {
		return "", false
	}
	return e.vars[i].Value, true
}

// Expand replaces every reference in a text such as a subPathExpr. The error names the variables that
// do not exist.
func (e *Environment) Expand(text string) (string, error) {
	var missing []string
	left := MaxBytes
	out, err := expandReferences(text, e.Lookup, &left, func(name string) { missing = append(missing, name) })
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("%w: there is no variable %s", ErrInvalid, strings.Join(missing, ", "))
	}
	if err != nil {
		return "", err
	}
	return out, nil
}

// Resolve returns the environment of a container. The warnings name the variables that were left out,
// for an event with the reason InvalidEnvironmentVariableNames. The error names the container, the
// variable and its reference.
func Resolve(in Input) (env Environment, warnings []string, err error) {
	r := resolution{Input: in, left: MaxBytes}
	r.env.index = make(map[string]int, len(in.Container.Env))
	if err := r.resolveAll(); err != nil {
		return Environment{}, r.warnings, fmt.Errorf("container %s: %w", in.Container.Name, err)
	}
	return r.env, r.warnings, nil
}

// resolution is the state of one Resolve.
type resolution struct {
	Input
	env      Environment
	warnings []string
	left     int // the bytes that the environment may still grow
}

// resolveAll sets the variables of a container: first from services, then envFrom, then env, so that later ones
// replace earlier ones. It then expands the references in the command and the arguments. It returns at the
// first error.
func (r *resolution) resolveAll() error {
	if err := r.setServiceVariables(); err != nil {
		return err
	}
	for i := range r.Container.EnvFrom {
		if err := r.setVariablesOfEnvFrom(&r.Container.EnvFrom[i]); err != nil {
			return fmt.Errorf("envFrom[%d]: %w", i, err)
		}
	}
	for i := range r.Container.Env {
		v := &r.Container.Env[i]
		if err := r.setVariableOfEnvVar(v); err != nil {
			return fmt.Errorf("variable %s: %w", printableName(v.Name), err)
		}
	}
	var err error
	left := MaxBytes
	if r.env.command, err = expandWords(r.Container.Command, r.env.Lookup, &left); err != nil {
		return fmt.Errorf("command%w", err)
	}
	if r.env.args, err = expandWords(r.Container.Args, r.env.Lookup, &left); err != nil {
		return fmt.Errorf("args%w", err)
	}
	return nil
}

// setVariableOfEnvVar sets the variable of an env entry: from value, with its references expanded, or from
// valueFrom. It sets nothing if an optional reference has no value. It returns an error if the name is invalid.
func (r *resolution) setVariableOfEnvVar(v *v1.EnvVar) error {
	if bad := validation.IsRelaxedEnvVarName(v.Name); len(bad) > 0 {
		return fmt.Errorf("%w name: %s", ErrInvalid, strings.Join(bad, "; "))
	}
	value, set := v.Value, true
	var err error
	switch {
	case v.Value != "":
		left := r.left
		value, err = expandReferences(v.Value, r.env.Lookup, &left, nil)
	case v.ValueFrom != nil:
		value, set, err = r.resolveValueFrom(v.ValueFrom)
	}
	if err != nil || !set {
		return err
	}
	return r.setVariable(v.Name, value)
}

// setVariable sets a variable, or replaces its value. It returns an error if the value contains a NUL byte. It
// also returns an error if all values so far, including replaced ones, exceed the size limit.
func (r *resolution) setVariable(name, value string) error {
	if err := checkNoNUL(value); err != nil {
		return err
	}
	// A replaced value counts too. So the work is bounded as well as the result.
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

// checkNoNUL returns an error if a value contains a NUL byte. Environment variables and arguments must not
// contain one.
func checkNoNUL(value string) error {
	if strings.IndexByte(value, 0) >= 0 {
		return fmt.Errorf("%w: it has a NUL byte", ErrInvalid)
	}
	return nil
}

// setVariablesOfEnvFrom sets a variable for each key of the ConfigMap or Secret in an envFrom entry. It skips
// keys that are not valid variable names, and adds a warning about them. A missing object is an error, unless
// it is optional.
func (r *resolution) setVariablesOfEnvFrom(source *v1.EnvFromSource) error {
	need, ok := envFromRef(source)
	if !ok {
		return fmt.Errorf("%w: neither configMapRef nor secretRef is set", ErrInvalid)
	}
	o, err := r.Objects.findObject(r.Pod.Namespace, need)
	if err != nil || o == nil {
		return err
	}
	var skipped []string
	for _, key := range o.sortedKeys() {
		name := source.Prefix + key
		if len(validation.IsRelaxedEnvVarName(name)) > 0 {
			skipped = append(skipped, name)
			continue
		}
		value, _ := o.valueOfKey(key)
		if err := r.setVariable(name, value); err != nil {
			return fmt.Errorf("%s, key %s: %w", need.describeIn(r.Pod.Namespace), printableName(key), err)
		}
	}
	if len(skipped) > 0 {
		slices.Sort(skipped)
		r.warnings = append(r.warnings, fmt.Sprintf("Keys [%s] of the %s were skipped: they are no names of environment variables",
			printableName(strings.Join(skipped, ", ")), need.describeIn(r.Pod.Namespace)))
	}
	return nil
}

// resolveValueFrom returns the value of a valueFrom. found is false if an optional reference has no value. It
// returns an error if a required value is missing or invalid, or if valueFrom has no source.
func (r *resolution) resolveValueFrom(from *v1.EnvVarSource) (value string, found bool, err error) {
	switch {
	case from.FieldRef != nil:
		value, err = r.envFieldValue(from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = ResourceField(r.Pod, r.Container.Name, from.ResourceFieldRef, r.Allocatable)
		return value, true, err
	case from.ConfigMapKeyRef != nil || from.SecretKeyRef != nil:
		return r.valueOfObjectKey(from)
	case from.FileKeyRef != nil:
		return r.valueOfFileKey(from.FileKeyRef)
	}
	return "", false, fmt.Errorf("%w: valueFrom has no source", ErrInvalid)
}

// valueOfObjectKey returns the value of a configMapKeyRef or secretKeyRef. found is false if the object or the
// key is missing and the reference is optional. Without optional that is an error.
func (r *resolution) valueOfObjectKey(from *v1.EnvVarSource) (value string, found bool, err error) {
	need, key := objectKeyRef(from)
	o, err := r.Objects.findObject(r.Pod.Namespace, need)
	if err != nil || o == nil {
		return "", false, err
	}
	value, ok := o.valueOfKey(key)
	if !ok && !need.Optional {
		return "", false, fmt.Errorf("the %s has no key %s: %w", need.describeIn(r.Pod.Namespace), printableName(key), runtime.ErrNotFound)
	}
	return value, ok, nil
}

// printableName returns a name for a message: control characters and invalid UTF-8 become "?", and a name of
// more than 100 bytes is cut and ends in "…".
func printableName(name string) string {
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

// Problem is a field of a container that has an invalid reference. The field path is relative to the
// container.
type Problem struct{ Field, Why string } // Field is relative to the container

// Problems returns the references of a container that can never be resolved, for any objects and
// addresses.
func Problems(pod *v1.Pod, c *v1.Container) []Problem {
	var found []Problem
	add := func(field string, err error) {
		if err != nil {
			found = append(found, Problem{field, err.Error()})
		}
	}
	for i := range c.EnvFrom {
		if _, ok := envFromRef(&c.EnvFrom[i]); !ok {
			add(fmt.Sprintf("envFrom[%d]", i), fmt.Errorf("%w: neither configMapRef nor secretRef is set", ErrInvalid))
		}
	}
	r := resolution{Input: Input{Pod: pod, Container: c}}
	for i := range c.Env {
		from := c.Env[i].ValueFrom
		if c.Env[i].Value != "" || from == nil || from.ConfigMapKeyRef != nil || from.SecretKeyRef != nil || from.FileKeyRef != nil {
			continue
		}
		_, _, err := r.resolveValueFrom(from)
		add(fmt.Sprintf("env[%d].valueFrom", i), err)
	}
	return found
}
