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

// eventsGroupVersion is the group of events for clients such as k9s, which do not read the events of v1.
var eventsGroupVersion = schema.GroupVersion{Group: "events.k8s.io", Version: "v1"}

const eventsGroupKey = "events.events.k8s.io"

// eventsV1Event is an Event of events.k8s.io: the same event with other field names.
type eventsV1Event struct {
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

// DeepCopyObject implements runtime.Object. A shallow copy suffices because nothing changes an event.
func (e *eventsV1Event) DeepCopyObject() k8sruntime.Object { return new(*e) }

// toEventsV1 converts an event of the core group to an event of events.k8s.io.
func toEventsV1(o object) k8sruntime.Object {
	e := o.(*v1.Event)
	return &eventsV1Event{
		TypeMeta: metav1.TypeMeta{APIVersion: eventsGroupVersion.String(), Kind: e.Kind}, ObjectMeta: e.ObjectMeta,
		EventTime: e.EventTime, Series: e.Series, Action: e.Action, Reason: e.Reason, Note: e.Message, Type: e.Type,
		ReportingController: e.ReportingController, ReportingInstance: e.ReportingInstance, Regarding: e.InvolvedObject, Related: e.Related,
		Source: e.Source, First: e.FirstTimestamp, Last: e.LastTimestamp, Count: e.Count,
	}
}

// eventsV1Fields returns the selectable fields of an event, with their names in the core group and also with
// their names in events.k8s.io.
func eventsV1Fields(o object) fields.Set {
	all := eventFields(o)
	for name, value := range maps.Clone(all) {
		if of, ok := strings.CutPrefix(name, "involvedObject."); ok {
			all["regarding."+of] = value
		}
	}
	all["reportingController"] = all["reportingComponent"]
	return all
}
