package localapi

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/internal/respond"
)

// objectList is a list of any kind.
type objectList struct {
	metav1.TypeMeta
	metav1.ListMeta `json:"metadata"`
	Items           []any `json:"items"`
}

// getOne answers with one object.
func (r *resource) getOne(v *view, w http.ResponseWriter, namespace, name string) {
	o := r.get(namespace, name)
	if o == nil {
		sendError(w, apierrors.NewNotFound(r.group(), name))
		return
	}
	sendJSON(w, http.StatusOK, v.one(o))
}

// getList answers with a list, or a page of it.
func (r *resource) getList(v *view, w http.ResponseWriter, o options) {
	objects, version, err := r.chosen(&o)
	if err != nil {
		sendError(w, err)
		return
	}
	meta := metav1.ListMeta{ResourceVersion: strconv.FormatUint(version, 10)}
	if left := int64(len(objects)) - o.limit; o.limit > 0 && left > 0 {
		objects = objects[:o.limit]
		meta.Continue = page{version, keyOf(objects[o.limit-1])}.String()
		if o.labels.Empty() && o.fields.Empty() {
			meta.RemainingItemCount = &left
		}
	}
	sendList(w, v, objects, meta)
}

func sendList(w http.ResponseWriter, v *view, objects []object, meta metav1.ListMeta) {
	header(w, "application/json")
	switch list := v.list(objects, meta).(type) { // If it cannot be sent the client has gone.
	case *metav1.Table:
		rows := list.Rows
		list.Rows = []metav1.TableRow{}
		_ = respond.List(w, list, rows)
	case objectList:
		items := list.Items
		list.Items = []any{}
		_ = respond.List(w, list, items)
	}
}

// chosen are the objects that are asked for, and the version that they are of.
func (r *resource) chosen(o *options) (objects []object, version uint64, err error) {
	objects, version = r.list()
	switch {
	case o.exact:
		version = o.version
		if objects, err = r.listAt(version); err != nil {
			return nil, 0, err
		}
	case o.hasVersion && o.version > version:
		return nil, 0, tooLarge(o.version, version)
	}
	objects = slices.DeleteFunc(objects, func(one object) bool {
		return !o.selects(r, one) || o.after != "" && strings.Compare(keyOf(one), o.after) <= 0
	})
	return objects, version, nil
}

// tooLarge is the error about a version that is still to come: clients list without one then.
func tooLarge(version, newest uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", version, newest), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}
