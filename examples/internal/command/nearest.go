package command

import "strings"

// NearestWord returns the known word that was probably meant by an unknown one: the only word that begins with it, or
// the one with the smallest edit distance. It returns "" if no word is near enough.
func NearestWord(word string, known []string) string {
	word = strings.ToLower(word)
	begins, nearest := "", ""
	least, several := len(word)/3+2, false
	for _, k := range known {
		if len(word) > 1 && strings.HasPrefix(k, word) {
			several = several || begins != ""
			begins = k
		}
		if d := editDistanceWithSwaps(word, k); d < least && d < len(k) {
			least, nearest = d, k
		}
	}
	if begins != "" && !several {
		return begins
	}
	return nearest
}

// editDistanceWithSwaps returns how many letters must be changed, added, removed or swapped with the next
// letter to turn a into b. It returns 100 if a or b has more than 100 letters.
func editDistanceWithSwaps(a, b string) int {
	if max(len(a), len(b)) > 100 {
		return 100 // Such a long word is not a typing error.
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
