package podspec

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestCheckQuantities_EveryQuantityOfTheType: there is no place for a quantity in the type of
// a pod at which it is not found.
func TestCheckQuantities_EveryQuantityOfTheType(t *testing.T) {
	places := quantitiesOf(reflect.TypeFor[v1.Pod](), nil)
	require.Greater(t, len(places), 20)
	for _, place := range places {
		pod := reflect.New(reflect.TypeFor[v1.Pod]())
		putValue(pod.Elem(), place, reflect.ValueOf(resource.MustParse("1e2000000000")))
		require.NotEmpty(t, pathOfTooLargeQuantity(pod), place)
		assert.ErrorIs(t, CheckQuantities(pod.Interface().(*v1.Pod)), ErrQuantity, "%v", pathOfTooLargeQuantity(pod))
	}
	assert.NoError(t, CheckQuantities(nil))
}

// quantitiesOf are the ways from a type to the quantities in it, as indexes of fields.
func quantitiesOf(t reflect.Type, way []int) (found [][]int) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return quantitiesOf(t.Elem(), way)
	case reflect.Struct:
		if t == reflect.TypeFor[resource.Quantity]() {
			return [][]int{append([]int(nil), way...)}
		}
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				found = append(found, quantitiesOf(t.Field(i).Type, append(way, i))...)
			}
		}
	}
	return found
}

// putValue sets the value at the end of a path and creates the values before it.
func putValue(v reflect.Value, way []int, value reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		putValue(v.Elem(), way, value)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		putValue(v.Index(0), way, value)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("k").Convert(v.Type().Key()), value)
	case reflect.Struct:
		if len(way) == 0 {
			v.Set(value)
			return
		}
		putValue(v.Field(way[0]), way[1:], value)
	}
}
