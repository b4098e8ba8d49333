package node

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/validation"
)

// refuseResize returns why a pod cannot get the resources of its new spec, or "" if it can. It checks what an API
// server checks, because the pods of files and of Apply have not passed one.
func refuseResize(allocated, desired *v1.Pod) string {
	if err := validation.ValidateResize(allocated, desired).ToAggregate(); err != nil {
		return err.Error()
	}
	return ""
}
