package podspec

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ClaimAnnotation is the annotation of a sandbox that has the Text of its pod's
// Claim: what the pod takes is known by it to an agent that does not know the pod.
const ClaimAnnotation = "podkeel.dev/claim"

// Claim is what a pod takes of its node.
type Claim struct {
	// Requests are for the pod as a whole, its one place under "pods" included.
	Requests v1.ResourceList `json:"requests,omitempty"`
	// Ports are those of the host.
	Ports []HostPort `json:"hostPorts,omitempty"`
}

// ClaimOf is what a pod takes by its spec.
func ClaimOf(pod *v1.Pod) Claim {
	c := Claim{Requests: Requests(pod), Ports: HostPorts(pod)}
	c.place()
	return c
}

func (c *Claim) place() { c.Requests[v1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI) }

// Text is the claim in a form that fits an annotation.
func (c Claim) Text() string {
	b, err := json.Marshal(c)
	if err != nil {
		return "" // It is made of strings and numbers, and none fails.
	}
	return string(b)
}

// ReadClaim reads what Text has written. Of what cannot be read nothing is known
// but that the pod takes one place.
func ReadClaim(text string) Claim {
	var c Claim
	if json.Unmarshal([]byte(text), &c) != nil {
		c = Claim{}
	}
	if c.Requests == nil {
		c.Requests = v1.ResourceList{}
	}
	c.place()
	return c
}
