package localapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/podkeel/podkeel/internal/plain"
)

// sendJSON encodes before it answers, so that a fault is a status and not half an object.
func sendJSON(w http.ResponseWriter, code int, value any) {
	sendAs(w, code, "application/json", value)
}

func sendAs(w http.ResponseWriter, code int, contentType string, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		sendError(w, err)
		return
	}
	header(w, contentType)
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n')) // If this fails the client has gone.
}

func header(w http.ResponseWriter, contentType string) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-cache, private")
	w.Header().Set("X-Content-Type-Options", "nosniff")
}

// sendError answers with the Status of an error. One without a Status is an internal error.
func sendError(w http.ResponseWriter, err error) {
	status := statusOf(err)
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	sendJSON(w, int(status.Code), status)
}

func statusOf(err error) metav1.Status {
	known := apierrors.APIStatus(nil)
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(errors.New(plain.Text(err.Error())))
	}
	status := known.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return status
}

// errNoSuchPath is the answer to a path that leads nowhere.
func errNoSuchPath() *apierrors.StatusError {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, false)
}

// sendNoResource answers a path below which a cluster may have a resource, and a node has none.
// What asks is mostly kubectl, which prints the sentence. It asks for definitions of kinds when
// it has found a kind in a manifest that is not served, and prints a warning besides.
func sendNoResource(w http.ResponseWriter, path string) {
	parts, group := strings.Split(path, "/")[2:], schema.GroupResource{} // /api/VERSION/... or /apis/GROUP/VERSION/...
	if strings.HasPrefix(path, "/apis/") {
		group.Group, parts = parts[0], parts[1:]
	}
	if parts = parts[1:]; parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	if group.Resource = parts[0]; group.Resource == "" {
		sendError(w, errNoSuchPath())
		return
	}
	if group.String() == "customresourcedefinitions.apiextensions.k8s.io" {
		w.Header().Set("Warning", `299 - "`+runsPods+`"`)
	}
	err := apierrors.NewGenericServerResponse(http.StatusNotFound, "", group, "", "", 0, false)
	err.ErrStatus.Message = fmt.Sprintf("there are no %s here: %s", plain.Visible(group.String()), runsPods)
	sendError(w, err)
}

const runsPods = "this node has no cluster, and runs pods only"

func errMethod(r *resource, verb string) *apierrors.StatusError {
	return apierrors.NewMethodNotSupported(r.group(), verb)
}

// form is how an answer shows objects.
type form string

const (
	formObject   form = ""
	formTable    form = "Table"
	formMetadata form = "PartialObjectMetadata"
)

// accepted finds the first form that a client accepts and this server has: JSON, as the
// object, its metadata or a Table of version v1.
func accepted(r *http.Request) (form, error) {
	values := r.Header.Values("Accept")
	if len(values) == 0 {
		return formObject, nil
	}
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil || media != "application/json" && media != "application/*" && media != "*/*" {
			continue
		}
		as := strings.TrimSuffix(params["as"], "List")
		switch {
		case as == "":
			return formObject, nil
		case params["g"] != metav1.GroupName || params["v"] != "v1":
		case as == string(formTable) || as == string(formMetadata):
			return form(as), nil
		}
	}
	return "", apierrors.NewGenericServerResponse(http.StatusNotAcceptable, "", schema.GroupResource{}, "",
		"only the following media types are accepted: application/json", 0, true)
}
