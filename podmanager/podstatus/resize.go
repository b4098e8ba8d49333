package podstatus

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
)

// The reasons of the events about the resize of a pod, as in the kubelet.
const (
	// EventResizeStarted: the pod gets the requested resources.
	EventResizeStarted = "ResizeStarted"
	// EventResizeCompleted: all containers have the requested resources.
	EventResizeCompleted = "ResizeCompleted"
	// EventResizeError: the runtime has refused the resources. The next sync tries again.
	EventResizeError = "ResizeError"
	// EventResizeDeferred: the node has not enough free resources now.
	EventResizeDeferred = "ResizeDeferred"
	// EventResizeInfeasible: the node can never give the pod these resources.
	EventResizeInfeasible = "ResizeInfeasible"
)

// resizeWords are the words for the reasons in the messages of the events.
var resizeWords = map[string]string{
	EventResizeStarted: "started", EventResizeCompleted: "completed", EventResizeError: "error",
	EventResizeDeferred: "Deferred", EventResizeInfeasible: "Infeasible",
}

// resizeDetails is the JSON in the message of an event about a resize.
type resizeDetails struct {
	InitContainers []containerResources `json:"initContainers,omitempty"`
	Containers     []containerResources `json:"containers,omitempty"`
	Generation     int64                `json:"generation"`
	Error          string               `json:"error,omitempty"`
}

// containerResources has the resources of one container.
type containerResources struct {
	Name      string                   `json:"name"`
	Resources *v1.ResourceRequirements `json:"resources,omitempty"`
}

// ResizeEventMessage returns the message of an event about the resize of a pod: a few words and a JSON
// object with the resources in the spec of the pod, the generation, and the error, if it is not empty. reason is
// the reason of the event. It may be called concurrently.
func ResizeEventMessage(reason string, pod *v1.Pod, generation int64, message string) string {
	details := resizeDetails{Generation: generation, Error: message}
	details.InitContainers = listContainerResources(pod.Spec.InitContainers)
	details.Containers = listContainerResources(pod.Spec.Containers)
	text, err := json.Marshal(&details)
	if err != nil { // A quantity that was never parsed cannot be written.
		return "Pod resize " + resizeWords[reason]
	}
	return "Pod resize " + resizeWords[reason] + ": " + string(text)
}

// listContainerResources returns the names and the resources of containers.
func listContainerResources(containers []v1.Container) (all []containerResources) {
	for i := range containers {
		all = append(all, containerResources{Name: containers[i].Name, Resources: &containers[i].Resources})
	}
	return all
}
