package apiservertest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
)

// serveGet sends one object.
func (h *httpRequest) serveGet() error {
	o, err := doRequest(h.Context(), h.c, h.newRequest("get"), func() (Object, error) { return h.s.storedObjectOrNotFoundLocked(h.objectKey()) })
	if err != nil {
		return err
	}
	return h.sendObject(http.StatusOK, o)
}

// newFeedWithSelectors returns the feed of the objects that the namespace and the selectors of the request select.
func (h *httpRequest) newFeedWithSelectors() (f feed[Object], err error) {
	query := h.URL.Query()
	byLabels, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return f, apierrors.NewBadRequest("labelSelector: " + err.Error())
	}
	byFields, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return f, apierrors.NewBadRequest("fieldSelector: " + err.Error())
	}
	known := h.resource.fieldsOf(h.resource.newObject())
	for _, r := range byFields.Requirements() {
		if !known.Has(r.Field) {
			return f, apierrors.NewBadRequest("field label not supported: " + r.Field)
		}
	}
	selected := func(o Object) bool {
		return (h.namespace == "" || o.GetNamespace() == h.namespace) && byLabels.Matches(labels.Set(o.GetLabels())) && byFields.Matches(h.resource.fieldsOf(o))
	}
	return feed[Object]{h.c, h.newRequest(""), selected, allowAll}, nil
}

// serveList sends the selected objects.
func (h *httpRequest) serveList() error {
	f, err := h.newFeedWithSelectors()
	if err != nil {
		return err
	}
	list, err := f.List(h.Context(), h.URL.Query().Get("resourceVersion"))
	if err != nil {
		return err
	}
	out := struct {
		metav1.TypeMeta
		metav1.ListMeta `json:"metadata"`
		Items           []Object `json:"items"`
	}{Items: []Object{}}
	out.APIVersion, out.Kind = h.resource.groupVersionKind().ToAPIVersionAndKind()
	out.Kind += "List"
	out.ResourceVersion = list.ResourceVersion
	for _, o := range list.Items {
		o = h.resource.toServed(o)
		o.GetObjectKind().SetGroupVersionKind(h.resource.groupVersionKind())
		out.Items = append(out.Items, o)
	}
	return sendJSON(h.w, http.StatusOK, out)
}

// serveWatch sends changes until the client disconnects, the timeout expires or the stream breaks.
func (h *httpRequest) serveWatch() error {
	query := h.URL.Query()
	f, err := h.newFeedWithSelectors()
	if err != nil {
		return err
	}
	seconds, _ := strconv.ParseInt(query.Get("timeoutSeconds"), 10, 64) // Malformed: the default.
	stream, err := f.Watch(h.Context(), apiserver.WatchOptions{
		ResourceVersion: query.Get("resourceVersion"), SendInitialEvents: query.Get("sendInitialEvents") == "true", Timeout: time.Duration(seconds) * time.Second,
	})
	if err != nil {
		return err
	}
	defer stream.Close()
	h.w.Header().Set("Content-Type", "application/json")
	h.w.WriteHeader(http.StatusOK)
	for {
		e, err := stream.Next(h.Context())
		var refusal apierrors.APIStatus
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &refusal):
			status := refusal.Status()
			status.Kind, status.APIVersion = "Status", "v1"
			h.sendEvent("ERROR", &status)
			return nil
		case err != nil:
			return err
		case e.Type != apiserver.Bookmark:
			o := h.resource.toServed(e.Object)
			o.GetObjectKind().SetGroupVersionKind(h.resource.groupVersionKind())
			h.sendEvent(string(e.Type), o)
		case query.Get("allowWatchBookmarks") == "true":
			h.sendEvent(string(e.Type), h.newBookmark(e))
		}
	}
}

// newBookmark returns the object of a bookmark.
func (h *httpRequest) newBookmark(e apiserver.Event[Object]) Object {
	o := h.resource.newServed()
	o.GetObjectKind().SetGroupVersionKind(h.resource.groupVersionKind())
	o.SetResourceVersion(e.ResourceVersion)
	if e.InitialEventsEnd {
		o.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return o
}

// sendEvent sends one event of a watch. It ignores an error, because the next call of the stream returns it.
func (h *httpRequest) sendEvent(kind string, o any) {
	text, err := json.Marshal(struct {
		Type   string `json:"type"`
		Object any    `json:"object"`
	}{kind, o})
	if err == nil {
		_, _ = h.w.Write(append(text, '\n'))
	}
}
