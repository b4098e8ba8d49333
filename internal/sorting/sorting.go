package sorting

import "sort"

// Func sorts a slice in ascending order by cmp. Equal elements stay in their order.
func Func[E any](list []E, cmp func(a, b E) int) {
	sort.Stable(by[E]{list, cmp})
}

type by[E any] struct {
	list []E
	cmp  func(a, b E) int
}

func (s by[E]) Len() int           { return len(s.list) }
func (s by[E]) Less(i, j int) bool { return s.cmp(s.list[i], s.list[j]) < 0 }
func (s by[E]) Swap(i, j int)      { s.list[i], s.list[j] = s.list[j], s.list[i] }
