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

// sendJSON sends a value as JSON. If the value cannot be encoded, it sends the Status of the error instead.
func sendJSON(w http.ResponseWriter, code int, value any) {
	sendJSONAs(w, code, "application/json", value)
}

// sendJSONAs sends a value as JSON with this content type. If the value cannot be encoded, it sends the Status of
// the error instead.
func sendJSONAs(w http.ResponseWriter, code int, contentType string, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		sendError(w, err)
		return
	}
	setHeaders(w, contentType)
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n')) // It fails only if the client has disconnected.
}

// setHeaders sets the content type and the headers that forbid caching and content sniffing.
func setHeaders(w http.ResponseWriter, contentType string) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-cache, private")
	w.Header().Set("X-Content-Type-Options", "nosniff")
}

// sendError sends the Status of an error, with a Retry-After header if the Status has one. An error without a
// Status becomes an internal error.
func sendError(w http.ResponseWriter, err error) {
	status := statusOfError(err)
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	sendJSON(w, int(status.Code), status)
}

// statusOfError returns the Status of an error. An error without a Status becomes an internal error.
func statusOfError(err error) metav1.Status {
	known := apierrors.APIStatus(nil)
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(errors.New(plain.Text(err.Error())))
	}
	status := known.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return status
}

// errNoSuchPath returns a new 404 error for a path that does not exist.
func errNoSuchPath() *apierrors.StatusError {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, false)
}

// sendNoSuchResource sends a 404 for a resource that a cluster may have and this API does not. For
// customresourcedefinitions it adds a Warning header, because kubectl requests that resource when a manifest
// has an unknown kind, and prints the warning and the error.
func sendNoSuchResource(w http.ResponseWriter, path string) {
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
		w.Header().Set("Warning", `299 - "`+podsOnlyMessage+`"`)
	}
	err := apierrors.NewGenericServerResponse(http.StatusNotFound, "", group, "", "", 0, false)
	err.ErrStatus.Message = fmt.Sprintf("there are no %s here: %s", plain.Visible(group.String()), podsOnlyMessage)
	sendError(w, err)
}

const podsOnlyMessage = "this node has no cluster, and runs pods only"

// methodNotSupportedError returns a 405 error for a verb that a resource does not support.
func methodNotSupportedError(r *resource, verb string) *apierrors.StatusError {
	return apierrors.NewMethodNotSupported(r.groupResource(), verb)
}

// form is the representation of objects in a response.
type form string

const (
	formObject   form = ""
	formTable    form = "Table"
	formMetadata form = "PartialObjectMetadata"
)

// negotiateForm returns the first form in the Accept header that this API supports: JSON of the object, of its
// metadata, or of a Table of version v1. Without an Accept header it returns the object form. The error has
// code 406 if the header has no supported form.
func negotiateForm(r *http.Request) (form, error) {
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
