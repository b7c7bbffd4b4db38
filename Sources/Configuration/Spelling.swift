/// Finds the word that was probably meant.
public enum Spelling {
    /// The candidate closest to a word, if one is close enough to be what was meant.
    ///
    /// Close enough is one edit for every three characters, and at least one; an edit is a
    /// character added, left out or changed, or two neighbours swapped. A word that starts a
    /// candidate counts as close, too.
    public static func nearest(to word: String, among candidates: [String]) -> String? {
        // A hostile word must not cost time: nothing this long is a misspelt key.
        guard word.utf8.count <= 64 else { return nil }
        let limit = max(1, word.count / 3)
        var best: (candidate: String, distance: Int)?
        for candidate in candidates {
            let isStart = word.count >= 3 && candidate.hasPrefix(word)
            let distance = isStart ? 1 : distance(between: word, and: candidate)
            if distance <= limit, distance < best?.distance ?? .max {
                best = (candidate, distance)
            }
        }
        return best?.candidate
    }

    /// Optimal string alignment distance, after folding ASCII case and `_` to `-`.
    static func distance(between first: String, and second: String) -> Int {
        let left = Array(folded(first))
        let right = Array(folded(second))
        guard !left.isEmpty, !right.isEmpty else { return max(left.count, right.count) }
        var beforePrevious = [Int](repeating: 0, count: right.count + 1)
        var previous = Array(0...right.count)
        for row in 1...left.count {
            var current = [row] + [Int](repeating: 0, count: right.count)
            for column in 1...right.count {
                let cost = left[row - 1] == right[column - 1] ? 0 : 1
                current[column] = min(
                    previous[column] + 1,
                    current[column - 1] + 1,
                    previous[column - 1] + cost
                )
                let swapped =
                    row > 1 && column > 1 && left[row - 1] == right[column - 2]
                    && left[row - 2] == right[column - 1]
                if swapped {
                    current[column] = min(current[column], beforePrevious[column - 2] + 1)
                }
            }
            beforePrevious = previous
            previous = current
        }
        return previous[right.count]
    }

    private static func folded(_ word: String) -> String {
        word.lowercased().replacing("_", with: "-")
    }
}
