package localapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// options are the query parameters of a list or a watch.
type options struct {
	selection
	watch, bookmarks, initialEvents bool
	version                         uint64 // valid if hasVersion is set
	hasVersion, exact               bool
	timeout                         time.Duration // zero: the default
	limit                           int64
	startAfter                      string // key of the last object of the previous page
}

// selection chooses objects by namespace, name, labels and fields.
type selection struct {
	namespace string // empty: all
	name      string // empty: all
	labels    labels.Selector
	fields    fields.Selector
}

// matches reports whether an object has the selected namespace, name, labels and fields. It returns false for
// nil.
func (s *selection) matches(r *resource, o object) bool {
	return o != nil && (s.namespace == "" || o.GetNamespace() == s.namespace) && (s.name == "" || o.GetName() == s.name) &&
		s.labels.Matches(labels.Set(o.GetLabels())) && (s.fields.Empty() || s.fields.Matches(r.fields(o)))
}

// parseOptions parses the query parameters of a list or a watch, including a continue token. The error is a
// Status with code 400.
func (r *resource) parseOptions(query url.Values) (o options, err error) {
	if o.selection, err = r.parseSelection(query); err != nil {
		return o, apierrors.NewBadRequest(err.Error())
	}
	if err = o.parseBoolsAndNumbers(query); err == nil {
		err = o.parseVersionAndMatch(query)
	}
	if err != nil {
		return o, apierrors.NewBadRequest(err.Error())
	}
	if token := query.Get("continue"); token != "" {
		return o, o.parseContinue(token)
	}
	return o, nil
}

// parseSelection parses the label selector and the field selector of a query. A field that the resource does
// not support is an error.
func (r *resource) parseSelection(query url.Values) (s selection, err error) {
	if s.labels, err = labels.Parse(query.Get("labelSelector")); err != nil {
		return s, fmt.Errorf("unable to parse labelSelector: %w", err)
	}
	if s.fields, err = fields.ParseSelector(query.Get("fieldSelector")); err != nil {
		return s, fmt.Errorf("unable to parse fieldSelector: %w", err)
	}
	known := r.fields(r.newObject())
	for _, want := range s.fields.Requirements() {
		if !known.Has(want.Field) {
			return s, fmt.Errorf("field label not supported: %s", want.Field)
		}
	}
	return s, nil
}

// parseBoolsAndNumbers sets the boolean parameters, limit and timeoutSeconds from a query. It shortens a timeout above
// maxWatchDuration. A malformed value or a negative number is an error.
func (o *options) parseBoolsAndNumbers(query url.Values) (err error) {
	for key, place := range map[string]*bool{"watch": &o.watch, "allowWatchBookmarks": &o.bookmarks, "sendInitialEvents": &o.initialEvents} {
		if value := query.Get(key); value != "" {
			if *place, err = strconv.ParseBool(value); err != nil {
				return fmt.Errorf("%s=%.40q: expected true or false", key, value)
			}
		}
	}
	var seconds int64
	for key, place := range map[string]*int64{"limit": &o.limit, "timeoutSeconds": &seconds} {
		if value := query.Get(key); value != "" {
			if *place, err = strconv.ParseInt(value, 10, 64); err != nil || *place < 0 {
				return fmt.Errorf("%s=%.40q: expected a number", key, value)
			}
		}
	}
	o.timeout = time.Duration(min(seconds, int64(maxWatchDuration/time.Second))) * time.Second
	return nil
}

// parseVersionAndMatch sets resourceVersion and resourceVersionMatch from a query. A malformed value is an error, and
// so are values that do not fit together or do not fit sendInitialEventsIfWanted. Version 0 means no version.
func (o *options) parseVersionAndMatch(query url.Values) (err error) {
	if value := query.Get("resourceVersion"); value != "" && value != "0" {
		o.hasVersion = true
		if o.version, err = strconv.ParseUint(value, 10, 64); err != nil {
			return fmt.Errorf("invalid resource version %.40q: expected a number", value)
		}
	}
	match := metav1.ResourceVersionMatch(query.Get("resourceVersionMatch"))
	switch {
	case match != "" && match != metav1.ResourceVersionMatchExact && match != metav1.ResourceVersionMatchNotOlderThan:
		return fmt.Errorf("resourceVersionMatch=%.40q: expected Exact or NotOlderThan", match)
	case o.initialEvents && (!o.watch || match != metav1.ResourceVersionMatchNotOlderThan):
		return fmt.Errorf("sendInitialEvents needs watch and resourceVersionMatch=NotOlderThan")
	case match == metav1.ResourceVersionMatchExact && !o.hasVersion:
		return fmt.Errorf("resourceVersionMatch=Exact needs a resourceVersion other than 0")
	}
	o.exact = match == metav1.ResourceVersionMatchExact
	return nil
}

// continueToken is the content of a continue token: the version of the list and the last key of the page.
type continueToken struct {
	Version uint64 `json:"rv"`
	After   string `json:"start"`
}

func (p continueToken) String() string {
	text, _ := json.Marshal(p) // Neither field can fail.
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseContinue decodes a continue token. It sets the options to the version of the first page, and to the
// objects after the last object of the previous page. A token of another server is an error. A request with a
// continue token may have neither a resourceVersion nor a watch.
func (o *options) parseContinue(token string) error {
	text, err := base64.RawURLEncoding.DecodeString(token)
	var p continueToken
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	switch {
	case err != nil || p.After == "":
		return apierrors.NewBadRequest("continue: the token is not one of this server")
	case o.hasVersion || o.watch:
		return apierrors.NewBadRequest("continue: neither a resourceVersion nor a watch is possible with it")
	}
	o.version, o.hasVersion, o.exact, o.startAfter = p.Version, true, true, p.After
	return nil
}
