print("dormouse")
