package apiservertest

import (
	"maps"
	"strings"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// isEventsV1 reports whether the resource is the events of events.k8s.io. They are the events of core/v1 with other field
// names, and are stored as such.
func (r *servedResource) isEventsV1() bool {
	return r.Group == eventsv1.GroupName && r.key == "events"
}

// newServed returns an empty object of the Go type that clients of the resource use.
func (r *servedResource) newServed() Object {
	if r.isEventsV1() {
		return &eventsv1.Event{}
	}
	return r.newObject()
}

// toServed returns a stored object as clients of the resource see it.
func (r *servedResource) toServed(o Object) Object {
	e, ok := o.(*v1.Event)
	if !ok || !r.isEventsV1() {
		return o
	}
	return &eventsv1.Event{
		ObjectMeta: e.ObjectMeta, EventTime: e.EventTime, Series: (*eventsv1.EventSeries)(e.Series),
		ReportingController: e.ReportingController, ReportingInstance: e.ReportingInstance,
		Action: e.Action, Reason: e.Reason, Regarding: e.InvolvedObject, Related: e.Related, Note: e.Message, Type: e.Type,
		DeprecatedSource: e.Source, DeprecatedFirstTimestamp: e.FirstTimestamp, DeprecatedLastTimestamp: e.LastTimestamp, DeprecatedCount: e.Count,
	}
}

// toStored returns an object of a client as the server stores it. It is the reverse of toServed.
func (r *servedResource) toStored(o Object) Object {
	e, ok := o.(*eventsv1.Event)
	if !ok {
		return o
	}
	return &v1.Event{
		ObjectMeta: e.ObjectMeta, EventTime: e.EventTime, Series: (*v1.EventSeries)(e.Series),
		ReportingController: e.ReportingController, ReportingInstance: e.ReportingInstance,
		Action: e.Action, Reason: e.Reason, InvolvedObject: e.Regarding, Related: e.Related, Message: e.Note, Type: e.Type,
		Source: e.DeprecatedSource, FirstTimestamp: e.DeprecatedFirstTimestamp, LastTimestamp: e.DeprecatedLastTimestamp, Count: e.DeprecatedCount,
	}
}

// fieldsOf returns the fields of a stored object for the field selectors of the resource.
func (r *servedResource) fieldsOf(o Object) fields.Set {
	set := fieldsOf(o)
	if r.isEventsV1() {
		for name, value := range maps.Clone(set) {
			if field, ok := strings.CutPrefix(name, "involvedObject."); ok {
				delete(set, name)
				set["regarding."+field] = value
			}
		}
	}
	return set
}
