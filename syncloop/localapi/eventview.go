package localapi

import (
	"maps"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// newEvents is the group of events for programs such as k9s, which do not ask for those of v1.
var newEvents = schema.GroupVersion{Group: "events.k8s.io", Version: "v1"}

const newEventsKey = "events.events.k8s.io"

// newEvent is an Event of events.k8s.io: the same one with other names of fields.
type newEvent struct {
	metav1.TypeMeta
	metav1.ObjectMeta   `json:"metadata"`
	EventTime           metav1.MicroTime    `json:"eventTime"`
	Series              *v1.EventSeries     `json:"series,omitempty"`
	ReportingController string              `json:"reportingController,omitempty"`
	ReportingInstance   string              `json:"reportingInstance,omitempty"`
	Action              string              `json:"action,omitempty"`
	Reason              string              `json:"reason,omitempty"`
	Regarding           v1.ObjectReference  `json:"regarding"`
	Related             *v1.ObjectReference `json:"related,omitempty"`
	Note                string              `json:"note,omitempty"`
	Type                string              `json:"type,omitempty"`
	Source              v1.EventSource      `json:"deprecatedSource"`
	First               metav1.Time         `json:"deprecatedFirstTimestamp"`
	Last                metav1.Time         `json:"deprecatedLastTimestamp"`
	Count               int32               `json:"deprecatedCount,omitempty"`
}

// DeepCopyObject implements runtime.Object. What is in an event never changes.
func (e *newEvent) DeepCopyObject() k8sruntime.Object { return new(*e) }

// showNewEvent shows an event as one of events.k8s.io.
func showNewEvent(o object) k8sruntime.Object {
	e := o.(*v1.Event)
	return &newEvent{
		TypeMeta: metav1.TypeMeta{APIVersion: newEvents.String(), Kind: e.Kind}, ObjectMeta: e.ObjectMeta,
		EventTime: e.EventTime, Series: e.Series, Action: e.Action, Reason: e.Reason, Note: e.Message, Type: e.Type,
		ReportingController: e.ReportingController, ReportingInstance: e.ReportingInstance, Regarding: e.InvolvedObject, Related: e.Related,
		Source: e.Source, First: e.FirstTimestamp, Last: e.LastTimestamp, Count: e.Count,
	}
}

// newEventFields are the fields by which events are selected, by their new names too.
func newEventFields(o object) fields.Set {
	all := eventFields(o)
	for name, value := range maps.Clone(all) {
		if of, ok := strings.CutPrefix(name, "involvedObject."); ok {
			all["regarding."+of] = value
		}
	}
	all["reportingController"] = all["reportingComponent"]
	return all
}
