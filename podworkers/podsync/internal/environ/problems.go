package environ

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

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
		if c.Env[i].Value != "" || from == nil || from.ConfigMapKeyRef != nil || from.SecretKeyRef != nil {
			continue
		}
		_, _, err := r.valueFrom(from)
		add(fmt.Sprintf("env[%d].valueFrom", i), err)
	}
	return found
}
